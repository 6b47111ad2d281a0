#!/usr/bin/env bash
# Copyright The Evenkeel Authors.
# SPDX-License-Identifier: Apache-2.0

# Copies those CRDs of the Gateway API that development and tests need out of the
# module sigs.k8s.io/gateway-api, in the version that go.mod names, into a folder.

set -o errexit -o nounset -o pipefail

out="$1"
module="$(go list -m -f '{{.Dir}}' sigs.k8s.io/gateway-api)"
if [[ -z "${module}" ]]; then
  echo "the module sigs.k8s.io/gateway-api is not there: run go mod download" >&2
  exit 1
fi
mkdir -p "${out}"
for plural in gateways httproutes; do
  # Files of the module cache are read-only, and a copy would be too.
  install -m 0644 "${module}/config/crd/standard/gateway.networking.k8s.io_${plural}.yaml" "${out}/"
done

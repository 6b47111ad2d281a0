#!/usr/bin/env bash
# Copyright The Evenkeel Authors.
# SPDX-License-Identifier: Apache-2.0

# Fails when generated files differ from what the Go types give now.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT

paths=(apis manifests docs/reference.md)
cp -r --parents "${paths[@]}" "${work}/"
hack/generate.sh
status=0
for path in "${paths[@]}"; do
  diff -ru "${work}/${path}" "${path}" || status=1
done
if [[ ${status} -ne 0 ]]; then
  echo "generated files were stale and are fresh now: commit them (make generate)" >&2
fi
exit "${status}"

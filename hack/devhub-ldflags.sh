#!/usr/bin/env bash
# Copyright The Evenkeel Authors.
# SPDX-License-Identifier: Apache-2.0

# Prints the linker flags of cmd/devhub. Kubernetes' commands take their version
# from variables that its release build sets; unset, they call themselves
# v0.0.0-master and kubectl cannot compare versions. Version and date come from
# the module in go.mod, so the flags are the same on every machine.
#
# usage: go build -ldflags "$(hack/devhub-ldflags.sh)" -o bin/devhub ./cmd/devhub

set -o errexit -o nounset -o pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

read -r version date < <(go list -m -f '{{.Version}} {{.Time.UTC.Format "2006-01-02T15:04:05Z"}}' k8s.io/kubernetes)

if [[ ! "${version}" =~ ^v([0-9]+)\.([0-9]+)\. ]]; then
  echo "$0: go.mod requires k8s.io/kubernetes ${version}, which is no release" >&2
  exit 1
fi
major="${BASH_REMATCH[1]}"
minor="${BASH_REMATCH[2]}"

flags=(-s -w) # no debugging tables: they are a third of the binary
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  flags+=(
    "-X ${package}.gitVersion=${version}"
    "-X ${package}.gitMajor=${major}"
    "-X ${package}.gitMinor=${minor}"
    # The module carries no commit; the tag is as exact a reference.
    "-X ${package}.gitCommit=${version}"
    "-X ${package}.gitTreeState=clean"
    "-X ${package}.buildDate=${date}"
  )
done
echo "${flags[*]}"

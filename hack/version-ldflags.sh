#!/usr/bin/env bash
# Copyright The Evenkeel Authors.
# SPDX-License-Identifier: Apache-2.0

# Prints the linker flags that tell Evenkeel's own binaries their version: the
# newest tag, or the commit where there is none.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version="$(git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-unknown)"
[[ "${version}" == v[0-9]* ]] || version="v0.0.0-${version}"
flags="-X k8s.io/component-base/version.gitVersion=${version}"
# What the flag --version calls the program, or it would say "Kubernetes".
flags+=" -X k8s.io/component-base/version/verflag.programName=Evenkeel"
echo "${flags}"

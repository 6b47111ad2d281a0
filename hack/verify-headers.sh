#!/usr/bin/env bash
# Copyright The Evenkeel Authors.
# SPDX-License-Identifier: Apache-2.0

# Fails when a Go file lacks the licence header.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

missing=()
while read -r file; do
  head -n 30 "${file}" | grep -q 'Copyright The Evenkeel Authors' || missing+=("${file}")
done < <(git ls-files '*.go')
if (( ${#missing[@]} )); then
  printf 'no licence header (see hack/boilerplate.go.txt): %s\n' "${missing[@]}" >&2
  exit 1
fi

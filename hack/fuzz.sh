#!/usr/bin/env bash
# Copyright The Evenkeel Authors.
# SPDX-License-Identifier: Apache-2.0

# Runs every fuzz target of the module for FUZZTIME, one after another.

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

git grep -l '^func Fuzz' -- '*_test.go' | while read -r file; do
  for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "${file}"); do
    echo "== ${target} (./$(dirname "${file}"))"
    go test -run '^$' -fuzz "^${target}\$" -fuzztime "${FUZZTIME:-20s}" "./$(dirname "${file}")"
  done
done

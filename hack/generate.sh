#!/usr/bin/env bash
# Copyright The Evenkeel Authors.
# SPDX-License-Identifier: Apache-2.0

# Makes deepcopy functions and CRDs from the Go types. With an argument, writes
# the CRDs into that folder instead of manifests/ (the check for freshness).

set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

gen=bin/tools/controller-gen
out="${1:-manifests}"

"${gen}" object:headerFile=hack/boilerplate.go.txt paths=./apis/...
"${gen}" crd paths=./apis/modelplane/... output:crd:dir="${out}/dev/crds"
"${gen}" crd paths=./apis/ome/... output:crd:dir="${out}/dev/crds"
"${gen}" crd paths=./apis/evenkeel/... output:crd:dir="${out}/hub/crds"
# The same kinds as a hub serves them that knows none of Evenkeel's extra fields.
go run ./hack/portable-crds --from "${out}/dev/crds" --to "${out}/dev/crds-portable"
# The Gateway API's own, unchanged.
hack/gateway-api-crds.sh "${out}/dev/crds-gateway-api"
# The page about commands, fields, reasons, events and metrics: always in place, as verify compares it there.
go run ./hack/reference

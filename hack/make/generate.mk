# Copyright The Evenkeel Authors.
# SPDX-License-Identifier: Apache-2.0

# Code and manifests that are made from the Go types, and the check that they are fresh.

$(TOOLS)/controller-gen $(TOOLS)/staticcheck: hack/tools/go.mod hack/tools/go.sum
	@mkdir -p $(TOOLS)
	@cd hack/tools && GOBIN=$(CURDIR)/$(TOOLS) go install tool
	@touch $(TOOLS)/controller-gen $(TOOLS)/staticcheck

.PHONY: generate
generate: $(TOOLS)/controller-gen ## Generate deepcopy functions and CRDs.
	@hack/generate.sh

.PHONY: verify
verify: verify-format verify-headers verify-generated verify-modules verify-vet verify-static ## Check format, headers, generated code, modules, vet and staticcheck.

.PHONY: verify-format
verify-format:
	@out="$$(git ls-files '*.go' | xargs gofmt -s -l)"; if [[ -n "$$out" ]]; then echo "not formatted; run gofmt -s -w on:"; echo "$$out"; exit 1; fi

.PHONY: verify-headers
verify-headers:
	@hack/verify-headers.sh

.PHONY: verify-generated
verify-generated: $(TOOLS)/controller-gen
	@hack/verify-generated.sh

.PHONY: verify-modules
verify-modules:
	@go mod tidy -diff
	@cd hack/tools && go mod tidy -diff
	@cd hack/tools/kwok && go mod tidy -diff

.PHONY: verify-vet
verify-vet:
	@go vet -tags integration,e2e $(PACKAGES)

.PHONY: verify-static
verify-static: $(TOOLS)/staticcheck
	@$(TOOLS)/staticcheck -tags integration,e2e $(PACKAGES)

# Copyright The Evenkeel Authors.
# SPDX-License-Identifier: Apache-2.0

# Tests by what they need: nothing (unit), a real control plane (integration), all the binaries (e2e).
# go vet is a part of verify, so that go test need not repeat it over every dependency.

FUZZTIME ?= 20s

.PHONY: test
test: verify test-unit test-integration test-e2e ## Run everything: verify, unit tests with the race detector, integration, e2e.

.PHONY: test-unit
test-unit: ## Run unit, property and seed-corpus tests with the race detector.
	@echo "== unit tests"
	@go test -race -vet=off $(PACKAGES)

.PHONY: test-integration
test-integration: build ## Run the tests that need a real etcd, API server and controller manager.
	@echo "== integration tests"
	@go test -vet=off -tags integration -timeout 30m -p 1 ./apis/... ./internal/controlplane/... ./internal/standin/... ./test/integration/...

.PHONY: test-e2e
test-e2e: build ## Run the demo's scenarios as a user does.
	@echo "== end-to-end tests"
	@go test -vet=off -tags e2e -timeout 20m -count=1 ./test/e2e/...

.PHONY: fuzz
fuzz: ## Fuzz each fuzz target for FUZZTIME (20s).
	@FUZZTIME=$(FUZZTIME) hack/fuzz.sh

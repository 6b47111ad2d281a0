# Copyright The Evenkeel Authors.
# SPDX-License-Identifier: Apache-2.0

# Everything is built from Go modules: no container engine, no other download.
SHELL := /usr/bin/env bash -o errexit -o nounset -o pipefail -c
.DEFAULT_GOAL := help

BIN      := bin
TOOLS    := $(BIN)/tools
COMMANDS := hub-scheduler hub-manager kubectl-evenkeel workload-manager
# Packages of this module, named once so that no target forgets one.
PACKAGES := ./apis/... ./cmd/... ./controllers/... ./hack/... ./internal/... ./plugins/... ./test/... ./webhooks/...

export GOTOOLCHAIN ?= local
# envtest and the project's own control plane find their binaries here.
export KUBEBUILDER_ASSETS := $(CURDIR)/$(BIN)/k8s

include hack/make/devhub.mk
include hack/make/generate.mk
include hack/make/kwok.mk
include hack/make/test.mk

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-zA-Z0-9_-]*:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: $(DEVHUB_STAMP) $(BIN)/kwok $(addprefix build-,$(COMMANDS)) build-ome-plugin build-demo ## Build all binaries into bin/.

.PHONY: $(addprefix build-,$(COMMANDS))
$(addprefix build-,$(COMMANDS)): build-%:
	@go build -ldflags "$$(hack/version-ldflags.sh)" -o $(BIN)/$* ./cmd/$*

# The plugin under the name that makes it answer to `kubectl ome`. It stays in bin/: nothing
# installs it, so that it never hides OME's own.
.PHONY: build-ome-plugin
build-ome-plugin: build-kubectl-evenkeel
	@ln -f $(BIN)/kubectl-evenkeel $(BIN)/kubectl-ome

.PHONY: build-demo
build-demo:
	@go build -o $(BIN)/demo ./test/demo

.PHONY: demo
demo: build ## Run the main job on an embedded control plane. SCENARIO=name runs one, KEEP=1 leaves it running.
	@$(BIN)/demo

.PHONY: bench
bench: build ## Measure. BENCH=placement runs one. Writes bench/results.json.
	@go build -o $(BIN)/bench ./test/benchmark
	@$(BIN)/bench

.PHONY: clean
clean: ## Remove what was built and measured.
	rm -rf $(BIN) bench

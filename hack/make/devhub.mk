# Copyright The Evenkeel Authors.
# SPDX-License-Identifier: Apache-2.0

# The development control plane: one binary, hard-linked under the names that
# controller-runtime's envtest and internal/controlplane look for.
DEVHUB_COMPONENTS := etcd kube-apiserver kube-controller-manager kube-scheduler kubectl
DEVHUB_DIR        := $(BIN)/k8s
DEVHUB_STAMP      := $(DEVHUB_DIR)/.stamp
DEVHUB_SOURCES    := go.mod go.sum hack/devhub-ldflags.sh hack/make/devhub.mk \
	$(wildcard cmd/devhub/*.go) internal/controlplane/lifeline/lifeline.go

.PHONY: build-devhub
build-devhub: $(DEVHUB_STAMP) ## Build the development control plane into bin/k8s (the first time takes minutes).

# -buildvcs=false: its version is Kubernetes', and a commit must not relink it.
# Links are removed and made anew, so components that run keep their file.
$(DEVHUB_STAMP): $(DEVHUB_SOURCES)
	@mkdir -p $(DEVHUB_DIR)
	@flags="$$(hack/devhub-ldflags.sh)" && \
		go build -buildvcs=false -ldflags "$$flags" -o $(BIN)/devhub ./cmd/devhub
	@for component in $(DEVHUB_COMPONENTS); do \
		rm -f $(DEVHUB_DIR)/$$component && ln $(BIN)/devhub $(DEVHUB_DIR)/$$component; \
	done
	@touch $@

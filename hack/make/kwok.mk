# Copyright The Evenkeel Authors.
# SPDX-License-Identifier: Apache-2.0

# kwok plays the nodes and kubelets of a workload cluster. It compiles only against its own
# client-go, so it has a module of its own.
$(BIN)/kwok: hack/tools/kwok/go.mod hack/tools/kwok/go.sum
	@mkdir -p $(BIN)
	@cd hack/tools/kwok && GOBIN=$(CURDIR)/$(BIN) go install tool
	@touch $@

/*
Copyright The Evenkeel Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package controlplane runs a real Kubernetes control plane (etcd, API server,
// controller manager and, if asked for, the default scheduler) as child processes
// of this one, for tests, benchmarks and the demo. Several can run side by side.
//
// The API server listens on a free loopback port with TLS and authorizes by RBAC;
// etcd listens on a Unix socket that only the current user can open. Nothing
// outlives its use: Stop, the cancelled context of Start and a failed Start kill
// every component and remove every file, and when this process itself is killed
// the kernel closes the components' lifeline and they end too (see package
// lifeline). In that last case the folder stays until the next Start sweeps it.
//
// The components are cmd/devhub under five names, which "make build" puts into
// bin/k8s. Other builds of the same components work, except that they outlive a
// killed parent.
//
// The package must not import k8s.io/kubernetes, so that tests which need a
// cluster link in seconds, and it must not be used to serve anybody: etcd does not
// flush to disk, and every certificate's key lies in a temporary folder.
package controlplane

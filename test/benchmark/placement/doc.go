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

// Package placement is the benchmark "placement": how fast the hub scheduler
// assigns ReplicaPlacements to InferenceClusters, next to how fast kube-scheduler
// binds as many pods to as many Nodes, in one run on one machine.
//
// Both are the real binaries with their default profile, all plugins and events on,
// and both are measured from outside in the same way: by the API server's audit log
// and /proc. The package must not give either side anything that the other does not
// get, and never asserts on a number, only on where everything landed.
package placement

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

// Package virtual shows InferenceClusters as Nodes and ReplicaPlacements as Pods to the kube-scheduler framework, and
// turns what the scheduler does to those Pods back into status writes on the ReplicaPlacements.
//
// Neither Node nor Pod exists anywhere but in the memory of this process. A translated object describes itself: all
// that a plugin needs is in its fields and in a few annotations with a canonical encoding, so that there is no second
// store that could get out of step, and so that a simulation works on the same objects as the scheduler.
//
// The package must not decide where a replica goes: rules of placement live in internal/placement and in the plugins.
// It must not create or delete any object, and it writes nothing but the status of ReplicaPlacements.
package virtual

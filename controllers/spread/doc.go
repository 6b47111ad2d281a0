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

// Package spread moves replicas of the serving path apart: when all of a component's Ready replicas share a node and
// another node would take one, it evicts one through the eviction API, and when a replica has fallen back to a GPU node
// and a system node takes it again, it brings it back.
//
// It must never have more than one eviction under way on a cluster, evict what is not settled, or delete a pod past its
// budget: a refusal means to wait.
package spread

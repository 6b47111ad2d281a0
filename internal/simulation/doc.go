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

// Package simulation tells what a change of the fleet would lead to, before anybody makes it. It runs the scheduler itself
// (the same framework, profile and plugins, with their queue, cache and ledger) and the decisions of the deployments'
// controller on a snapshot of the fleet in memory, under a clock that jumps from one deadline to the next. A replica is
// Ready as soon as it is created, and gone as soon as it is deleted.
//
// It must not have a rule of its own about where a replica may go or when it leaves: what it adds is the API server and
// the composer, which it stands in for. It reaches no cluster and changes nothing outside of its own memory.
package simulation

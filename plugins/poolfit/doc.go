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

// Package poolfit holds the plugin PoolFit, which finds a node pool for each engine of a replica, and the ledger of the
// nodes that are taken. A pod of an engine takes a whole node.
//
// The rules of matching and of cost are those of internal/placement; this package brings them together with what the
// scheduler and the hub know of taken nodes. It must not write to the API server, and nothing here decides which of
// several clusters is better.
package poolfit

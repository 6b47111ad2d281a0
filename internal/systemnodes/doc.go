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

// Package systemnodes foretells what the maintenance of a cluster's system nodes would do to its serving path: it plays
// drains on a copy of what a cluster holds, with the API server's answer to evictions as the budgets' status gives it,
// and with the default scheduler's own plugins to find a place for what was evicted.
//
// It is pure: it must not read from a cluster or write to one.
package systemnodes

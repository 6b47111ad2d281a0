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

// Package servingpath is the mutating webhook that fills in what parts of the serving path lack: a second replica, a
// spread over nodes, probes, rollout settings. It answers the same object the same way every time, dry run or not, so
// that installers that compare before they write stay quiet, and it has no side effects.
//
// It must never refuse anything: it stands in front of the pods that it protects, and an object that it cannot read
// goes through as it is.
package servingpath

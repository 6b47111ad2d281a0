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

// Package traffic holds the commands that take a workload cluster out of a service's traffic
// and bring it back: drain, undrain, status and explain with the flags, words, tables and
// exit codes of OME's plugin, so that scripts written for one work with the other, and
// Evenkeel's own verbs for a whole fleet.
//
// A command here asks, previews and prints. What may be changed and how it is sent is in
// internal/cli/guarded; what a change does to traffic is in internal/trafficmap.
package traffic

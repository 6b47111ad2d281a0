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

// Package operator measures how long a person waits for kubectl evenkeel on a large fleet, and how much memory that takes:
// `plan drain` of one cluster, and `get clusters`.
//
// The fleet is made by hub-manager and hub-scheduler, which do not run any more when the plugin is measured. The package must
// not judge a number.
package operator

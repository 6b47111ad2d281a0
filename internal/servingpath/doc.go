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

// Package servingpath says what stands on the path of a request on a cluster, what each part of it should have, whose
// word a setting is, and what an eviction may take. The webhook, the controllers and the check share it, so that they
// judge alike.
//
// It is pure: it must not read from a cluster, and it never lowers, removes or overrides anything.
package servingpath

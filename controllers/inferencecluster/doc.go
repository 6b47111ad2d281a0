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

// Package inferencecluster is the controller that tells how the drain of a cluster stands: the condition Drained on the
// InferenceCluster, events about its beginning, its end and its standing still, and metrics.
//
// It only reports. It must not move, hold back or delete anything, nor write any other condition of a cluster: those are
// Modelplane's.
package inferencecluster

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

// Package disruptionbudget keeps one PodDisruptionBudget for each Deployment of the serving path that should have one,
// owned by the Deployment, so that it goes with it.
//
// It must never put a second budget on a pod: evictions of a pod under two fail with status 500 for ever. And it must
// never keep one that allows nothing: where only a leader becomes Ready, there is none. Whatever else would make a
// drain wait for ever, it reports on the workload and in a metric.
package disruptionbudget

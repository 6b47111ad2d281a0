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

// Package modeldeployment is the controller that keeps the replicas of ModelDeployments. It observes, asks
// internal/replicas what to do, and does it: it is the only creator and deleter of ReplicaPlacements, and of the
// ModelReplicas and ModelEndpoints of the deployments that are Evenkeel's.
//
// It must not decide anything about placements, moves or counts itself: what is not in replicas.Decide does not happen.
// What it adds is safety against its own stale reads: preconditions on every write, and uncached reads before the few
// that have none.
package modeldeployment

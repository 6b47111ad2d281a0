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

// Package trafficmap keeps one TrafficMap for each InferenceService that is placed over
// several workload clusters, and its conditions. It is for hubs where OME's own controller
// does not do it, and must never run beside that: two writers would undo each other.
//
// What a map says is computed in internal/trafficmap. Here it is read, written and
// explained. Where the input is invalid, the last valid map stays as it is, as with OME;
// unlike OME an event and the condition evenkeel.io/InputValid say so and why. The package
// writes no InferenceService and nothing outside of Kubernetes; telling a gateway is the
// task of controllers/trafficpublisher.
package trafficmap

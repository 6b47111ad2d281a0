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

// Package tainttime is the admission webhook that writes down since when an InferenceCluster has each NoExecute taint,
// for the sake of tolerations that hold for some time only: in the taint's timeAdded, or, where the hub's schema prunes
// that field, in the annotation evenkeel.io/taints-since.
//
// A time stays as it is while its taint stays, whoever writes the cluster and whatever they leave out. The webhook must
// never give a time to a taint that is there already without one: the time would be too late, and a toleration that was
// running out would begin anew. Nor may it ever refuse anything.
package tainttime

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

// Package trafficdrain is the admission webhook that guards the annotation ome.io/traffic-drain of InferenceServices.
//
// OME itself lets every edit through: a malformed value freezes the service's TrafficMap, a misspelt cluster drains
// nothing, and nobody stops a drain of the last cluster that serves. The webhook refuses such an edit and says what to
// do instead, and warns where an edit does more, or less, than one might think. What makes a value better is always let
// through: removing the annotation, and taking drains away.
//
// The rules are those of internal/trafficdrain and internal/trafficmap; here is only what needs to know the hub. The
// webhook answers from informers, makes no call and changes nothing, so that a dry run is answered like any request. It
// must neither log nor repeat the reason of a drain.
package trafficdrain

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

// Package report works out what `traffic status` and `traffic explain` say about a service:
// the traffic policy that its controller reports, in OME's rows and words, and after those,
// in rows of their own, what OME's command leaves out: the drains and the TrafficMap.
//
// The package is pure and repeats nothing of a service but names, URLs and the reasons of
// drains. Of OME's report it leaves out canaries: their state belongs to `rollout`.
package report

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

// Package trafficdrain reads, writes and judges the annotation ome.io/traffic-drain,
// by which an InferenceService takes workload clusters out of its traffic.
//
// Two rule sets exist and must stay apart. Parse applies the lenient one of OME's hub
// controller: it decides whether a value counts at all. ParseStrict applies the one of
// `kubectl ome traffic` on top: limits, names and reasons that people can read. Every
// value that ParseStrict accepts, Parse accepts with the same result.
//
// The package is pure: no client, no clock, no log. The admission webhook, the
// TrafficMap controller and the traffic commands all use it, so that no rule exists
// twice. Its errors are *Refusal; only Refusal.Safe and Refusal.Explain may be shown or
// logged where secrets must not go. Reasons are never part of either.
package trafficdrain

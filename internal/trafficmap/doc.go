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

// Package trafficmap computes what a TrafficMap says: the weight of each workload cluster
// that serves an InferenceService, the drains that hold it, and the conditions that
// explain the table.
//
// The rules are OME's, so that a hub may switch between OME's controller and Evenkeel's
// and no weight moves. In short: a home counts with the least of what it was admitted,
// what it reports and what is ready, times its factor; failed probes take it out; the
// results are divided by their greatest common divisor; last of all drains set single
// entries to 0 and leave the others as they are.
//
// The package is pure: no client, no clock, no log. The TrafficMap controller writes with
// it, the admission webhook and the traffic commands ask it what an edit would do.
package trafficmap

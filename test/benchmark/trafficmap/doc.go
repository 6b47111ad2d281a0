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

// Package trafficmap is the benchmark "trafficmap": how long it takes until every TrafficMap of a hub shows that a
// cluster is drained for all services, next to the time that as many patches take which nobody acts on.
//
// What drains is a plain client; what writes the maps is the shipped hub-manager with the rights that its manifests
// grant. Where the services are is told in their status, as OME's placement would, and no probe is configured, so that
// nothing but the controller and the API server is measured. The package must not judge a number, only that every map
// says what it should.
package trafficmap

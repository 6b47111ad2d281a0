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

// Package trafficpublisher writes the weights of TrafficMaps into Gateway API HTTPRoutes, one
// route for each map, with one ExternalName Service for each workload cluster in it. Names,
// labels, journal and conditions are those of OME's built-in publisher "gatewayapi", so that
// a hub may switch between the two.
//
// It computes no weight and never changes one: an all-zero table becomes an all-zero route.
// It touches only objects that bear its labels. A failure leaves the route as it was, with
// the cause in an event, since the condition's message is general.
package trafficpublisher

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

// Package standin is a stand-in for Modelplane's composer, for demo, tests and
// benchmarks only. It plays the part that Modelplane and the inference clusters
// have after Evenkeel has decided, against a real API server:
//
//   - It publishes the status of InferenceClusters of source Existing from their
//     node pools and InferenceClasses, as Modelplane does once a cluster is up.
//   - It makes ModelReplicas ready after a loading time, keeps one from it on
//     purpose, and holds a deleted one for as long as its pods would take to end.
//   - It gives ModelEndpoints a backend and ModelServices a route, which it
//     recomputes on a cycle of its own and not when endpoints change. On a hub that
//     serves the Gateway API a route is an HTTPRoute.
//   - It plays the hub's gateway, over HTTP on loopback: it sends requests where the
//     routes say, also to backends that are gone by now.
//
// No model runs and no cluster exists. The package must not place or move
// anything, must not write what Evenkeel writes (specs, labels, annotations,
// conditions of ModelDeployments), and must never run against a hub that anybody
// uses: it would report clusters and replicas as ready that are not there.
package standin

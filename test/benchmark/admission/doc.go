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

// Package admission is the benchmark "admission": what the guard of traffic drains costs an update of an
// InferenceService, in time that the API server takes to answer.
//
// Each update is made twice, one right after the other, in alternating order: of an InferenceService, and of an object of
// a second kind with the same schema and content in another API group, which no webhook is about. Both meet the same API
// server and etcd at the same moment. A first case without any webhook shows that the two kinds do not differ by
// themselves.
//
// The times come from the API server's audit log, the guard is the shipped hub-manager with the shipped configuration.
// The package never asserts on a number, only on which updates the guard was asked about.
package admission

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

// Package v1beta1 holds Go types for the objects of OME's API group ome.io/v1beta1
// that multi-cluster routing reads and writes: TrafficMap and WorkloadCluster whole,
// InferenceService in the part that decides where traffic may go.
//
// The kinds belong to OME. On a hub that runs OME its own, larger schemas are
// installed and these types only decode what they know, so never write a whole
// InferenceService from them: patch single fields. The CRDs generated from this
// package are for development and tests.
//
// +kubebuilder:object:generate=true
// +groupName=ome.io
package v1beta1

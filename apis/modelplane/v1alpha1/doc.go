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

// Package v1alpha1 holds the Go types of the Modelplane kinds that Evenkeel reads and writes, with the same schemas
// that Modelplane's composite resource definitions publish, plus the few optional fields that Evenkeel understands
// where a hub keeps them (schedulerName, priorityClassName, tolerationSeconds, timeAdded).
//
// It must not hold behaviour beyond small accessors: rules live in internal/placement and internal/replicas. On a real
// hub these kinds are already installed; the CRDs generated from here are for development and tests.
//
// +kubebuilder:object:generate=true
// +groupName=modelplane.ai
package v1alpha1

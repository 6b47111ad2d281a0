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

// Package v1alpha1 holds Evenkeel's own kinds: ReplicaPlacement, the wanted replica that the hub scheduler gives a
// cluster as kube-scheduler gives a pod a node, and DisruptionPolicy, which says how carefully replicas are moved.
//
// It must not hold behaviour beyond small accessors: rules live in internal/placement and internal/replicas.
//
// +kubebuilder:object:generate=true
// +groupName=evenkeel.io
package v1alpha1

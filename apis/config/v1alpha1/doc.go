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

// Package v1alpha1 holds Evenkeel's configuration files: the arguments of the hub scheduler's plugins, which stand in
// the pluginConfig of a KubeSchedulerConfiguration, and the manager's own file. They are versioned like an API,
// defaulted, and decoded strictly: a field that nobody knows is an error, never a setting that is silently ignored.
//
// These kinds are never served by an API server, and this package must not read files or flags.
//
// +kubebuilder:object:generate=true
// +groupName=config.evenkeel.io
package v1alpha1

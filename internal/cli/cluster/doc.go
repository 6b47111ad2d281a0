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

// Package cluster holds the verbs that take a cluster out of service and give it back: cordon,
// uncordon, drain, undo drain, pause, resume, and history.
//
// They write taints on InferenceClusters and, for pause and resume, one DisruptionPolicy of their
// own in a namespace. They must not touch replicas or placements: what moves, and when, is
// hub-manager's to decide.
package cluster

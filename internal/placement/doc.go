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

// Package placement holds the rules by which a replica of a ModelDeployment gets a home: on which clusters it may be
// or stay, on which node pools, at what cost in nodes, under which name, and which of several clusters is better.
//
// The rules are Modelplane's, so that a fleet placed by one is retained by the other. Where Evenkeel's differ on
// purpose, the comment of the function says so.
//
// The hub scheduler's plugins, the deployment's controller and the preview of a drain all ask this package, so that
// they cannot disagree. It is pure: it has no client, reads no clock, logs nothing, and knows neither Pods nor Nodes.
// Malformed input never panics; what cannot be understood does not match.
package placement

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

// Package drain measures how long it takes to move many replicas away from the clusters that they are on, next to the
// time that as many bare writes take on the same control plane, and what the moves cost: API writes, CPU, memory.
//
// What it moves does not load: the stand-in for Modelplane's composer makes a replica ready at once, so that nothing but
// Evenkeel and the API server is measured. The package must not judge a number.
package drain

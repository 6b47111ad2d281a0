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

// Package follow watches a drain and tells, replica by replica, how it goes: in lines where its
// output is read by a program or kept, in a view that is drawn anew where it is a terminal.
//
// It only reads. How the drain stands it takes from the cluster's condition Drained and from
// internal/drain, by which that condition is made; it must not judge by rules of its own.
package follow

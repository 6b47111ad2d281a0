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

// Package replicas decides what to do next for one ModelDeployment: which placements to create, which replicas to make,
// move or delete, and what to tell people. Decide is a pure function of what exists; every step of a move is derived
// from it again, so a process that is killed at any point loses nothing and repeats nothing.
//
// Whoever applies the actions must do so in their order, stop at the first that fails, and check what an action asks to
// have confirmed with an uncached read. Within one pass a decision is first written to the placements' status; what
// cannot be taken back (a replica's deletion) follows in a later pass, which sees it written.
//
// The package must not import a client, read a clock, or depend on the order of what it is given.
package replicas

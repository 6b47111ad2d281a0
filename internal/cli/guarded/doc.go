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

// Package guarded changes the drains of one InferenceService the way OME's traffic commands
// do: read it once, refuse what is not safe, and send a JSON Patch that the API server
// applies only to exactly the object that was read.
//
// The refusals, their order and their words are OME's, because people and scripts look for
// them. What OME leaves out, such as the words of an admission webhook, is in the Cause of
// the error. The package asks nobody and prints nothing but the API server's warnings; the
// commands that use it preview and confirm. It never tries again: who loses a race must look
// at what is there now.
package guarded

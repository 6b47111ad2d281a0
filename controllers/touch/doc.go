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

// Package touch brings objects of the serving path through admission that were there before the webhook, or were
// written while it did not answer: a patch that changes nothing, which admission fills in. Installers cache what they
// want, so that without it nothing would happen until a manifest changes.
//
// It must not write any field itself: what admission fills in is owned by nobody, and so nobody's next apply takes it
// away.
package touch

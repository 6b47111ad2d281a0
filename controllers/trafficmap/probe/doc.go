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

// Package probe asks the endpoints of a service whether they work and remembers what they
// said. An endpoint that fails often enough in a row is gated, which the routing controller
// turns into weight 0, until it passes often enough in a row.
//
// The package neither reads nor writes objects. Policy and State are pure; the Prober makes
// the requests. It must send nothing but the request that the policy names, and must not
// follow redirects: a redirect is an answer like any other.
package probe

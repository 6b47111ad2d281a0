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

// Package serving is the set-up that admission webhooks share: the TLS server, its certificates, and the authority's
// certificate in the webhook configurations.
//
// Authority and certificate live in one Secret, which the manifests make empty and every replica watches; the server
// takes its certificate from there, so that no kubelet and no mounted file stands between a rotation and the next
// handshake. A certificate is renewed beside the old one's life: no call fails for it. A new authority is published
// next to the old one in every configuration first, and only then signs a certificate.
//
// The package must not know what a webhook decides.
package serving

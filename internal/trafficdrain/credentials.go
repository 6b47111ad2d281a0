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

package trafficdrain

import (
	"regexp"
	"strings"
)

// The two shapes that OME's traffic commands take for a credential: an API key after
// any character that is not a letter or digit, and three long runs joined by dots, as a
// JSON web token has them, when they are the whole value.
var (
	keyShape   = regexp.MustCompile(`(?:^|[^A-Za-z0-9])sk-[A-Za-z0-9_-]{20,}`)
	tokenShape = regexp.MustCompile(`^[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}$`)
)

// CredentialLike tells whether a string has the shape of a credential and so must not
// be stored in an annotation, where everybody who may read the service sees it.
func CredentialLike(s string) bool {
	return keyShape.MatchString(s) || tokenShape.MatchString(s)
}

const maxScalarBytes = 256

var scalarShape = regexp.MustCompile(`^[A-Za-z0-9_.:/@+-]+$`)

// SafeScalar tells whether OME's traffic commands may print and send a name: 1 to 256
// bytes of [A-Za-z0-9_.:/@+-], no credential, and no "user:password@" in it. They ask it
// of IDs, clusters, namespaces, context names, UIDs and resource versions.
func SafeScalar(s string) bool {
	return len(s) <= maxScalarBytes && scalarShape.MatchString(s) && !CredentialLike(s) && !holdsUserinfo(s)
}

func holdsUserinfo(s string) bool {
	if _, rest, found := strings.Cut(s, "://"); found {
		s = rest
	}
	at := strings.LastIndexByte(s, '@')
	return at >= 0 && strings.Contains(s[:at], ":")
}

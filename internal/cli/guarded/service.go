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

package guarded

import (
	"errors"
	"fmt"
	"strings"

	sigsjson "sigs.k8s.io/json"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// Service is an InferenceService as it was read, typed and untyped.
type Service struct {
	v1beta1.InferenceService
	raw map[string]any
}

// Drains is the service's drain annotation.
func (s *Service) Drains() trafficdrain.Value {
	return trafficdrain.ValueOf(s.Annotations)
}

// decode reads an object whose identity is unambiguous: a name that comes twice, or in
// another letter case, could be read differently by the next program.
func decode(body []byte) (*Service, error) {
	s := &Service{}
	repeated, err := sigsjson.UnmarshalStrict(body, &s.raw)
	if err := errors.Join(append(repeated, err)...); err != nil {
		return nil, fmt.Errorf("the answer is not unambiguous JSON: %w", err)
	}
	for name := range s.raw {
		for _, identity := range []string{"apiVersion", "kind", "metadata"} {
			if name != identity && strings.EqualFold(name, identity) {
				return nil, fmt.Errorf("the answer has %q beside %q", name, identity)
			}
		}
	}
	if err := sigsjson.UnmarshalCaseSensitivePreserveInts(body, &s.InferenceService); err != nil {
		return nil, fmt.Errorf("the answer is no InferenceService: %w", err)
	}
	return s, nil
}

// differs says in what the service is not the one that was asked for; uid may be empty.
func (s *Service) differs(namespace, name, uid string) string {
	for _, is := range []struct{ what, got, want string }{
		{"apiVersion", s.APIVersion, v1beta1.GroupVersion.String()},
		{"kind", s.Kind, "InferenceService"},
		{"namespace", s.Namespace, namespace},
		{"name", s.Name, name},
	} {
		if is.got != is.want {
			return OneLine(fmt.Sprintf("the answer's %s is %q, not %q", is.what, is.got, is.want))
		}
	}
	if uid != "" && string(s.UID) != uid {
		return OneLine(fmt.Sprintf("the answer's uid is %q, not %q", s.UID, uid))
	}
	return ""
}

// hasAnnotations tells whether there is a map of annotations to put a key into.
func (s *Service) hasAnnotations() bool {
	metadata, _ := s.raw["metadata"].(map[string]any)
	_, is := metadata["annotations"].(map[string]any)
	return is
}

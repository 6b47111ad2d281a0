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

package replicas

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// route gives each replica that serves an endpoint, and takes away those of replicas that do not. A replica that must
// leave keeps its endpoint until it is deleted: it serves until then.
//
// An endpoint stays as it is where the cluster's object is missing: that the address is not known is no reason to cut
// off what runs behind it.
func (s *state) route() {
	kept := map[string]bool{}
	for u := range s.units {
		if u.name == "" || u.nameTaken {
			continue
		}
		kept[u.name] = true
		if u.deleting {
			continue
		}
		s.routeUnit(u)
	}
	for _, r := range s.orphans {
		kept[r.Name] = true
	}
	for _, e := range s.Endpoints {
		if s.owns(e) && !kept[e.Name] {
			s.deleteEndpoint(e)
		}
	}
}

func (s *state) routeUnit(u *unit) {
	have := s.endpoint(u.name)
	want := s.desiredEndpoint(u)
	if u.ready() && u.cluster == nil {
		if have == nil || u.keepOff.IsZero() {
			return
		}
		want = have.DeepCopy()
		s.keepOff(want, u.keepOff)
	}
	switch {
	case want == nil && have != nil:
		s.deleteEndpoint(have)
	case want == nil || s.endpointNameTaken(u.name):
	case have == nil && !u.keepOff.IsZero():
	case have == nil || !sameEndpoint(have, want) || !u.keepOff.IsZero() && selectable(have, want, s.childMeta(u, "endpoint").Labels):
		s.act(ApplyEndpoint{Observed: have, Endpoint: want})
	}
}

func (s *state) desiredEndpoint(u *unit) *modelplane.ModelEndpoint {
	if !u.ready() || u.cluster == nil {
		return nil
	}
	url, rewritePath, ok := placement.EndpointURL(u.cluster.Status.Gateway, s.Deployment.Namespace, u.name)
	if !ok {
		return nil
	}
	metadata := s.childMeta(u, "endpoint")
	e := &modelplane.ModelEndpoint{
		TypeMeta:   metav1.TypeMeta{APIVersion: modelplane.GroupVersion.String(), Kind: "ModelEndpoint"},
		ObjectMeta: metadata,
		Spec:       modelplane.ModelEndpointSpec{URL: url, RewritePath: rewritePath},
	}
	if !u.keepOff.IsZero() {
		s.keepOff(e, u.keepOff)
	}
	return e
}

// selectable tells whether an endpoint still has one of the labels that it is not to have any more.
func selectable(have, want *modelplane.ModelEndpoint, usual map[string]string) bool {
	for k := range usual {
		_, wanted := want.Labels[k]
		if _, found := have.Labels[k]; found && !wanted {
			return true
		}
	}
	return false
}

func sameEndpoint(have, want *modelplane.ModelEndpoint) bool {
	_, keptOff := have.Annotations[evenkeel.AnnotationTrafficWithdrawnAt]
	_, keepOff := want.Annotations[evenkeel.AnnotationTrafficWithdrawnAt]
	return keptOff == keepOff && len(metaDifferences(have, want)) == 0 && equality.Semantic.DeepEqual(have.Spec, want.Spec)
}

func (s *state) deleteEndpoint(e *modelplane.ModelEndpoint) {
	if e.DeletionTimestamp == nil {
		s.act(DeleteEndpoint{Endpoint: e})
	}
}

// endpoint gives the deployment's endpoint of that name, if it is there and not on its way out.
func (s *state) endpoint(name string) *modelplane.ModelEndpoint {
	for _, e := range s.Endpoints {
		if e.Name == name && s.owns(e) && e.DeletionTimestamp == nil {
			return e
		}
	}
	return nil
}

// hasEndpoint tells whether any endpoint has that name, whosever it is.
func (s *state) hasEndpoint(name string) bool {
	return slices.ContainsFunc(s.Endpoints, func(e *modelplane.ModelEndpoint) bool { return e.Name == name })
}

func (s *state) endpointNameTaken(name string) bool {
	for _, e := range s.Endpoints {
		if e.Name == name && !s.owns(e) {
			return true
		}
	}
	return false
}

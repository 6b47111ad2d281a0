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

package trafficpublisher

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gateway "sigs.k8s.io/gateway-api/apis/v1"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// theirs is somebody else's route for chat's host.
func theirs(parent gateway.ParentReference) *gateway.HTTPRoute {
	return &gateway.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "theirs"},
		Spec: gateway.HTTPRouteSpec{
			CommonRouteSpec: gateway.CommonRouteSpec{ParentRefs: []gateway.ParentReference{parent}},
			Hostnames:       []gateway.Hostname{"chat.example.com"},
		},
	}
}

func parent(namespace, name string) gateway.ParentReference {
	return gateway.ParentReference{Namespace: ptr.To(gateway.Namespace(namespace)), Name: gateway.ObjectName(name)}
}

// TestWhatOthersHave is left to them, and whatever could be mistaken for it does not stand in the way.
func TestWhatOthersHave(t *testing.T) {
	const host = `Gateway hostname "chat.example.com" on gateways/global is already published by HTTPRoute team/theirs`
	for name, tc := range map[string]struct {
		theirs client.Object
		want   string // why not; none: it is published
	}{
		"a Service of the backend's name": {
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: backendName(chat, "worker-a"), Labels: map[string]string{labelManagedBy: managedBy}}},
			"global Service prod/" + backendName(chat, "worker-a") + " belongs to another source",
		},
		"a route of the name, for another host": {
			&gateway.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "chat-global"}},
			"global HTTPRoute prod/chat-global belongs to another source",
		},
		"a route for the host":                        {theirs(parent("gateways", "global")), host},
		"a route for the host, as Gateways are meant": {theirs(gateway.ParentReference{Group: ptr.To(gateway.Group(gateway.GroupName)), Kind: ptr.To(gateway.Kind("Gateway")), Namespace: ptr.To(gateway.Namespace("gateways")), Name: "global"}), host},
		"on another Gateway":                          {theirs(parent("gateways", "internal")), ""},
		"on a Gateway of another namespace":           {theirs(parent("team", "global")), ""},
		"on the Gateway of that name in its own":      {theirs(gateway.ParentReference{Name: "global"}), ""},
		"on no Gateway": {theirs(gateway.ParentReference{
			Group: ptr.To(gateway.Group("")), Kind: ptr.To(gateway.Kind("Service")), Namespace: ptr.To(gateway.Namespace("gateways")), Name: "global"}), ""},
		"a map that claims the route": {
			&ome.TrafficMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "other", UID: "other"}, Status: ome.TrafficMapStatus{
				Publisher: &ome.TrafficMapPublisherStatus{PublisherName: publisherName, ClaimedTargets: []string{"v1:httproute:prod/chat-global"}}}},
			`publisher target "v1:httproute:prod/chat-global" is already claimed by TrafficMap team/other`,
		},
		"a map that claims another": {
			&ome.TrafficMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "other", UID: "other"}, Status: ome.TrafficMapStatus{
				Publisher: &ome.TrafficMapPublisherStatus{PublisherName: publisherName, ClaimedTargets: []string{"v1:httproute:prod/chat-global-too"}}}}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.service("chat", a)
			wanted := tc.theirs.DeepCopyObject()
			require.NoError(t, s.Inner.Create(t.Context(), tc.theirs))
			if tm, ok := wanted.(*ome.TrafficMap); ok {
				tc.theirs.(*ome.TrafficMap).Status = tm.Status
				require.NoError(t, s.Inner.Status().Update(t.Context(), tc.theirs))
			}
			before := tc.theirs.GetResourceVersion()
			result, err := s.look("chat")
			require.NoError(t, err)
			assert.Equal(t, time.Minute, result.RequeueAfter)
			require.NoError(t, s.Inner.Get(t.Context(), client.ObjectKeyFromObject(tc.theirs), tc.theirs))
			assert.Equal(t, before, tc.theirs.GetResourceVersion(), "it is as it was")
			if tc.want == "" {
				assert.Equal(t, "Published", s.published("chat"))
				return
			}
			assert.Equal(t, "ClaimRejected", s.published("chat"))
			assert.Equal(t, []string{"Warning PublicationFailed " + tc.want}, s.Events())
			for _, write := range s.Took() {
				assert.NotContains(t, write, "create ", "nothing is made that could not be used")
			}
			require.NoError(t, s.Inner.Delete(t.Context(), tc.theirs))
			_, err = s.look("chat")
			require.NoError(t, err)
			assert.Equal(t, "Published", s.published("chat"), "it is free now")
		})
	}
}

// want asks for a host for a service; none takes the wish back.
func (s *scene) want(name, host string) {
	s.t.Helper()
	isvc := &ome.InferenceService{}
	require.NoError(s.t, s.Inner.Get(s.t.Context(), keyOf(name), isvc))
	isvc.Annotations = map[string]string{ome.GlobalHostAnnotation: host}
	require.NoError(s.t, s.Inner.Update(s.t.Context(), isvc))
}

// expect looks at a map once.
func (s *scene) expect(name, published string) {
	s.t.Helper()
	_, err := s.look(name)
	require.NoError(s.t, err)
	assert.Equal(s.t, published, s.published(name))
}

// TestAHostIsGivenUp by a service that has no host any more, for others that have waited for it.
func TestAHostIsGivenUp(t *testing.T) {
	s := newScene(t)
	s.gateway.HostTemplate = ""
	s.service("first", a)
	s.service("second", a)
	s.want("first", "one.example.com")
	s.want("second", "one.example.com")
	s.expect("first", "Published")
	s.expect("second", "ClaimRejected")
	s.want("first", "")
	s.expect("first", "Withdrawn")
	s.expect("second", "Published")
}

// TestAHostChangesHands has services want what others have, had, or could not get, before the cache knows any of it.
func TestAHostChangesHands(t *testing.T) {
	const wanted = "one.example.com"
	want, look := (*scene).want, (*scene).expect
	s := newScene(t)
	s.service("first", a)
	s.service("second", a)
	want(s, "first", wanted)
	want(s, "second", wanted)
	look(s, "first", "Published")
	look(s, "second", "ClaimRejected")
	assert.Equal(t, []string{`Warning PublicationFailed Gateway hostname "one.example.com" on gateways/global is already published by HTTPRoute prod/first-global`}, s.Events())

	want(s, "first", "other.example.com")
	look(s, "first", "Published")
	look(s, "second", "Published")

	require.NoError(t, s.Inner.Delete(t.Context(), s.trafficMap("second")))
	s.settle("second")
	want(s, "first", wanted)
	look(s, "first", "Published")

	// What somebody could not get stays free for the others.
	s.service("third", a)
	taken := &gateway.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "third-global"}}
	require.NoError(t, s.Inner.Create(t.Context(), taken))
	taken.Spec.Hostnames = []gateway.Hostname{"free.example.com"}
	require.NoError(t, s.Inner.Update(t.Context(), taken))
	want(s, "third", "free.example.com")
	look(s, "third", "ClaimRejected")
	require.NoError(t, s.Inner.Delete(t.Context(), taken))
	s.service("fourth", a)
	want(s, "fourth", "free.example.com")
	look(s, "fourth", "Published")
	look(s, "third", "ClaimRejected")

	// A map whose end was not seen gives up what it had as well.
	fourth := s.trafficMap("fourth")
	fourth.Finalizers = nil
	require.NoError(t, s.Inner.Update(t.Context(), fourth))
	require.NoError(t, s.Inner.Delete(t.Context(), fourth))
	require.NoError(t, s.Inner.Delete(t.Context(), &gateway.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "fourth-global"}}))
	_, err := s.look("fourth")
	require.NoError(t, err)
	look(s, "third", "Published")
}

// TestAWriteThatFails is told, leaves what there is, and is tried again; what others change meanwhile is no failure.
func TestAWriteThatFails(t *testing.T) {
	refused := errors.New("refused")
	conflict := apierrors.NewConflict(ome.Resource("trafficmaps"), "chat", errors.New("it has changed"))
	for name, tc := range map[string]struct {
		write     string
		change    func(*scene)
		answer    error
		published string // what the map says then
		retried   bool   // soon
		event     string
	}{
		"a backend": {
			"create Service prod/worker-c", func(s *scene) { s.compute("chat", c) }, refused, "ApplyFailed", true, "refused",
		},
		"a route that is to be retired": {
			"update HTTPRoute prod/chat-global", func(s *scene) { s.gateway = withRoutesIn(s.gateway, "routes") }, refused, "DrainFailed", false, "HTTPRoute prod/chat-global: refused",
		},
		"a backend that has changed": {
			"create Service prod/worker-c", func(s *scene) { s.compute("chat", c) }, conflict, "Transitioning", true, "",
		},
		"a route to be retired that has changed": {
			"update HTTPRoute prod/chat-global", func(s *scene) { s.gateway = withRoutesIn(s.gateway, "routes") }, conflict, "Transitioning", true, "",
		},
		"the end": {
			"delete HTTPRoute prod/chat-global", func(s *scene) { require.NoError(s.t, s.Inner.Delete(s.t.Context(), s.trafficMap("chat"))) }, refused, "Finalizing", true, "refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.service("chat", a, b)
			s.settle("chat")
			tc.change(s)
			s.restart()
			s.Before = func(write string) error {
				if write == tc.write {
					return tc.answer
				}
				return nil
			}
			result, err := s.look("chat")
			assert.Equal(t, tc.published, s.published("chat"))
			assert.Equal(t, "chat-global", s.trafficMap("chat").Status.GatewayRef.Name, "it says still where the traffic goes")
			events := strings.Join(s.Events(), "\n")
			switch {
			case tc.event == "":
				require.NoError(t, err)
				assert.Equal(t, staleRetry, result.RequeueAfter)
				assert.Empty(t, events)
			case tc.retried:
				require.ErrorContains(t, err, tc.event)
				assert.Equal(t, "Warning PublicationFailed "+tc.event, events)
			default:
				require.NoError(t, err)
				assert.Equal(t, time.Minute, result.RequeueAfter)
				assert.Equal(t, "Warning PublicationFailed "+tc.event, events)
			}
			s.Before = nil
			s.settle("chat")
			assert.NotContains(t, []string{"ApplyFailed", "DrainFailed", "Transitioning", "Finalizing"}, s.published("chat"))
		})
	}
}

// TestARouteThatTakesLongToGo keeps its backends and its map until it is gone.
func TestARouteThatTakesLongToGo(t *testing.T) {
	s := newScene(t)
	s.service("chat", a)
	s.settle("chat")
	route := &gateway.HTTPRoute{}
	require.NoError(t, s.Inner.Get(t.Context(), keyOf("chat-global"), route))
	route.Finalizers = []string{"example.com/gateway"}
	require.NoError(t, s.Inner.Update(t.Context(), route))
	require.NoError(t, s.Inner.Delete(t.Context(), s.trafficMap("chat")))
	for range 2 {
		result, err := s.look("chat")
		require.NoError(t, err)
		assert.Equal(t, absencePause, result.RequeueAfter)
		assert.Equal(t, []string{"prod/chat-global prod/worker-a=0", "Finalizing prod/chat-global"}, s.found())
	}
	require.NoError(t, s.Inner.Get(t.Context(), keyOf("chat-global"), route))
	route.Finalizers = nil
	require.NoError(t, s.Inner.Update(t.Context(), route))
	s.settle("chat")
	assert.Equal(t, []string{" "}, s.found())
}

// TestWhatOthersMadeOfARoute stays: a map's end takes only what is still the map's own.
func TestWhatOthersMadeOfARoute(t *testing.T) {
	s := newScene(t)
	s.service("chat", a)
	s.settle("chat")
	route := &gateway.HTTPRoute{}
	require.NoError(t, s.Inner.Get(t.Context(), keyOf("chat-global"), route))
	route.Labels = nil
	require.NoError(t, s.Inner.Update(t.Context(), route))
	require.NoError(t, s.Inner.Delete(t.Context(), s.trafficMap("chat")))
	s.settle("chat")
	assert.Empty(t, s.trafficMap("chat").Name)
	require.NoError(t, s.Inner.Get(t.Context(), keyOf("chat-global"), route))
	assert.EqualValues(t, 2, *route.Spec.Rules[0].BackendRefs[0].Weight)
}

// TestAHubThatServesRoutesNoMore lets maps go.
func TestAHubThatServesRoutesNoMore(t *testing.T) {
	s := newScene(t)
	s.service("chat", a)
	s.settle("chat")
	s.Took()
	s.gateway = nil
	s.restart()
	s.publisher.ServesRoutes = false
	s.settle("chat")
	assert.Equal(t, []string{reported("False/Transitioning", "Unknown/Transitioning"), "delete Service prod/worker-a", reported("False/Withdrawn", "False/Withdrawn"), "release TrafficMap prod/chat"}, s.Took())
}

// TestServiceChanged has what a publication depends on, and what would only cost.
func TestServiceChanged(t *testing.T) {
	changed := serviceChanged()
	for name, tc := range map[string]struct {
		change func(*ome.InferenceService)
		want   bool
	}{
		"nothing":            {func(*ome.InferenceService) {}, false},
		"another annotation": {func(s *ome.InferenceService) { s.Annotations = map[string]string{"x": "y"} }, false},
		"its status":         {func(s *ome.InferenceService) { s.Status.Placement = &ome.PlacementStatus{} }, false},
		"its host":           {func(s *ome.InferenceService) { s.Annotations = map[string]string{ome.GlobalHostAnnotation: "h"} }, true},
		"its spec":           {func(s *ome.InferenceService) { s.Generation++ }, true},
		"it is to go":        {func(s *ome.InferenceService) { s.DeletionTimestamp = ptr.To(metav1.NewTime(noon)) }, true},
		"it is another one":  {func(s *ome.InferenceService) { s.UID = "another" }, true},
	} {
		before := &ome.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "chat", UID: "u", Generation: 1}}
		after := before.DeepCopy()
		tc.change(after)
		assert.Equal(t, tc.want, changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}), name)
	}
	assert.True(t, changed.Create(event.CreateEvent{Object: &ome.InferenceService{}}))
}

func TestByLabels(t *testing.T) {
	route := &gateway.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "routes", Name: "r", Labels: ownLabels(chat)}}
	assert.Equal(t, []reconcile.Request{{NamespacedName: chat}}, byLabels(t.Context(), route))
	route.Labels[labelManagedBy] = "somebody"
	assert.Empty(t, byLabels(t.Context(), route))
}

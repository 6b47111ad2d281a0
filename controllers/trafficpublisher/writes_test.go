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
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	gateway "sigs.k8s.io/gateway-api/apis/v1"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/controllers/internal/testhub"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// scene is a hub with a publisher and services whose maps are published.
type scene struct {
	t *testing.T
	*testhub.Hub
	gateway   *Gateway
	publisher *Reconciler
}

func newScene(t *testing.T) *scene {
	t.Helper()
	hub, err := testhub.New(func(indexer client.FieldIndexer) error { return addIndexes(t.Context(), indexer, true) })
	require.NoError(t, err)
	s := &scene{t: t, Hub: hub, gateway: &Gateway{Namespace: "gateways", Name: "global", BackendPort: 443, HostTemplate: "{{.Name}}.example.com"}}
	s.restart()
	return s
}

// restart is a new process: it remembers nothing.
func (s *scene) restart() {
	s.publisher = &Reconciler{
		Options:  Options{Gateway: s.gateway, ServesRoutes: true, ResyncInterval: time.Minute},
		Client:   s.Client,
		Live:     s.Inner,
		Backends: s.Inner,
		Recorder: s.Recorder,
		Clock:    testingclock.NewFakePassiveClock(noon),
	}
}

// service makes a service, and the map that was computed from it.
func (s *scene) service(name string, entries ...ome.TrafficMapEntry) *ome.InferenceService {
	s.t.Helper()
	isvc := &ome.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, UID: types.UID("service-" + name), Generation: 2}}
	require.NoError(s.t, s.Inner.Create(s.t.Context(), isvc))
	tm := mapOf()
	tm.Name, tm.UID, tm.Generation = name, "map-of-"+isvc.UID, 1
	tm.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(isvc, ome.GroupVersion.WithKind("InferenceService"))}
	tm.Spec.ObservedISVCGeneration = isvc.Generation
	require.NoError(s.t, s.Inner.Create(s.t.Context(), tm))
	s.compute(name, entries...)
	return isvc
}

func keyOf(name string) client.ObjectKey { return client.ObjectKey{Namespace: "prod", Name: name} }

// compute has a map say something else.
func (s *scene) compute(name string, entries ...ome.TrafficMapEntry) {
	s.t.Helper()
	s.change(name, func(tm *ome.TrafficMap) {
		tm.Spec.Entries = entries
		tm.Generation++
	})
	s.changeStatus(name, func(tm *ome.TrafficMap) {
		tm.Status.SourceUID = metav1.GetControllerOf(tm).UID
		meta.SetStatusCondition(&tm.Status.Conditions, metav1.Condition{
			Type: ome.TrafficMapRoutable, Status: metav1.ConditionTrue, Reason: "Routable", ObservedGeneration: tm.Generation,
		})
	})
}

func (s *scene) change(name string, change func(*ome.TrafficMap)) {
	s.t.Helper()
	tm := s.trafficMap(name)
	change(tm)
	require.NoError(s.t, s.Inner.Update(s.t.Context(), tm))
}

func (s *scene) changeStatus(name string, change func(*ome.TrafficMap)) {
	s.t.Helper()
	tm := s.trafficMap(name)
	change(tm)
	require.NoError(s.t, s.Inner.Status().Update(s.t.Context(), tm))
}

func (s *scene) trafficMap(name string) *ome.TrafficMap {
	s.t.Helper()
	tm := &ome.TrafficMap{}
	require.NoError(s.t, client.IgnoreNotFound(s.Inner.Get(s.t.Context(), keyOf(name), tm)))
	return tm
}

// published is the reason of a map's condition.
func (s *scene) published(name string) string {
	c := meta.FindStatusCondition(s.trafficMap(name).Status.Conditions, ome.TrafficMapPublished)
	if c == nil {
		return ""
	}
	return c.Reason
}

func (s *scene) look(name string) (ctrl.Result, error) {
	return s.publisher.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: keyOf(name)})
}

// settle looks at a map until there is nothing more to write.
func (s *scene) settle(name string) {
	s.t.Helper()
	for range 10 {
		before := len(s.Writes)
		_, err := s.look(name)
		require.NoError(s.t, err)
		if len(s.Writes) == before {
			return
		}
	}
	s.t.Fatalf("it does not end: %q", s.Writes)
}

const byPublisher = "status of prod/chat by ome-trafficmap-publisher: "

// reported are the writes of the map's status, as they come.
func reported(published, fallback string) string {
	return byPublisher + " Published=" + published + " PublicationFallback=" + fallback
}

var (
	transitioning = reported("False/Transitioning", "Unknown/Transitioning")
	publishedNow  = reported("True/Published", "False/Unsupported")
)

var a, b, c = entry("worker-a", "https://a.example.com", 2), entry("worker-b", "https://b.example.com", 1), entry("worker-c", "https://c.example.com", 1)

// TestWritesInOrder has what is written, and in which order: the map says what is going to be there, backends come before
// the route that names them, a route gives up its traffic before it goes, and backends go when no route names them.
func TestWritesInOrder(t *testing.T) {
	s := newScene(t)
	s.service("chat", a, b)
	s.settle("chat")
	assert.Equal(t, []string{
		"hold TrafficMap prod/chat", transitioning,
		"create Service prod/worker-a", "create Service prod/worker-b", "create HTTPRoute prod/chat-global", publishedNow,
	}, s.Took())

	s.restart()
	s.settle("chat")
	assert.Empty(t, s.Took(), "all is there")

	s.compute("chat", b, c)
	s.settle("chat")
	assert.Equal(t, []string{
		transitioning, "create Service prod/worker-c", "update HTTPRoute prod/chat-global", "delete Service prod/worker-a", publishedNow,
	}, s.Took())

	drained := b
	drained.Weight = 0
	s.compute("chat", drained, c)
	s.settle("chat")
	assert.Equal(t, []string{transitioning, "update HTTPRoute prod/chat-global", publishedNow}, s.Took(), "a drain is one write outside")

	s.gateway.RouteNamespace = "routes"
	s.restart()
	s.settle("chat")
	assert.Equal(t, []string{
		transitioning, "update HTTPRoute prod/chat-global",
		"create Service routes/worker-b", "create Service routes/worker-c", "create HTTPRoute routes/chat-ba4cb5d6-global",
		"delete HTTPRoute prod/chat-global", "delete Service prod/worker-b", "delete Service prod/worker-c", publishedNow,
	}, s.Took())
	assert.Equal(t, []string{"v1:httproute:routes/chat-ba4cb5d6-global"}, s.trafficMap("chat").Status.Publisher.ClaimedTargets)

	require.NoError(t, s.Inner.Delete(t.Context(), s.trafficMap("chat")))
	s.settle("chat")
	assert.Equal(t, []string{
		reported("False/Finalizing", "False/Finalizing"), "update HTTPRoute routes/chat-ba4cb5d6-global", "delete HTTPRoute routes/chat-ba4cb5d6-global",
		"delete Service routes/worker-b", "delete Service routes/worker-c", reported("False/Unpublished", "False/Unpublished"), "release TrafficMap prod/chat",
	}, s.Took())
	assert.Empty(t, s.trafficMap("chat").Name)
	assert.Empty(t, s.Events(), "nothing has failed")
}

// stages are a life of a map. Each ends with a hub as told.
var stages = []struct {
	do   func(*scene)
	want []string
}{
	{func(s *scene) { s.compute("chat", a, b) }, []string{"prod/chat-global prod/worker-a=2 prod/worker-b=1", "Published prod/chat-global"}},
	{func(s *scene) { s.compute("chat", b, c) }, []string{"prod/chat-global prod/worker-b=1 prod/worker-c=1", "Published prod/chat-global"}},
	{func(s *scene) { s.gateway = withRoutesIn(s.gateway, "routes") }, []string{"routes/chat-ba4cb5d6-global routes/worker-b=1 routes/worker-c=1", "Published routes/chat-ba4cb5d6-global"}},
	{func(s *scene) { s.gateway = nil }, []string{"Withdrawn "}},
	{func(s *scene) {
		s.gateway = withRoutesIn(&Gateway{Namespace: "gateways", Name: "global", BackendPort: 443, HostTemplate: "{{.Name}}.example.com"}, "prod")
	}, []string{"prod/chat-global prod/worker-b=1 prod/worker-c=1", "Published prod/chat-global"}},
	{func(s *scene) {
		require.NoError(s.t, s.Inner.Delete(s.t.Context(), s.trafficMap("chat")))
	}, []string{" "}},
}

func withRoutesIn(g *Gateway, namespace string) *Gateway {
	other := *g
	other.RouteNamespace = namespace
	return &other
}

// found says what is on the hub: the routes with their backends, and what the map says of its publication.
func (s *scene) found() []string {
	s.t.Helper()
	names := map[client.ObjectKey]string{}
	backends, routes := &corev1.ServiceList{}, &gateway.HTTPRouteList{}
	require.NoError(s.t, s.Inner.List(s.t.Context(), backends))
	require.NoError(s.t, s.Inner.List(s.t.Context(), routes))
	for _, b := range backends.Items {
		names[client.ObjectKeyFromObject(&b)] = b.Namespace + "/" + b.Labels[labelCluster]
	}
	var found []string
	for _, r := range routes.Items {
		said := r.Namespace + "/" + r.Name
		for _, ref := range r.Spec.Rules[0].BackendRefs {
			key := client.ObjectKey{Namespace: string(*ref.Namespace), Name: string(ref.Name)}
			said += fmt.Sprintf(" %s=%d", names[key], *ref.Weight)
			if names[key] == "" {
				s.t.Errorf("route %s/%s names a backend that is not there", r.Namespace, r.Name)
			}
			delete(names, key)
		}
		found = append(found, said)
	}
	for _, name := range names {
		found = append(found, "unused "+name)
	}
	tm, route := s.trafficMap("chat"), ""
	if ref := tm.Status.GatewayRef; ref != nil {
		route = ref.Namespace + "/" + ref.Name
	}
	slices.Sort(found)
	return append(found, s.published("chat")+" "+route)
}

// mustBeKnown checks what must hold whenever the process may end: there is nothing on the hub that the map does not own up
// to, and no route that names what is not there.
func (s *scene) mustBeKnown(write string) {
	s.t.Helper()
	tm, routes, backends := s.trafficMap("chat"), &gateway.HTTPRouteList{}, &corev1.ServiceList{}
	require.NoError(s.t, s.Inner.List(s.t.Context(), routes))
	require.NoError(s.t, s.Inner.List(s.t.Context(), backends))
	if len(routes.Items)+len(backends.Items) > 0 {
		require.Contains(s.t, tm.Finalizers, finalizer, "after %s", write)
		require.NotNil(s.t, tm.Status.Publisher, "after %s", write)
	}
	for _, r := range routes.Items {
		require.Contains(s.t, tm.Status.Publisher.ClaimedTargets, targetOf(client.ObjectKeyFromObject(&r)), "after %s", write)
		for _, ref := range r.Spec.Rules[0].BackendRefs {
			require.True(s.t, slices.ContainsFunc(backends.Items, func(b corev1.Service) bool {
				return b.Namespace == string(*ref.Namespace) && b.Name == string(ref.Name)
			}), "a route names what is not there, after %s", write)
		}
	}
}

// mustHaveNoTraffic checks that a route which is going to be deleted has none.
func (s *scene) mustHaveNoTraffic(write string) {
	name, deletes := strings.CutPrefix(write, "delete HTTPRoute ")
	if !deletes {
		return
	}
	namespace, name, _ := strings.Cut(name, "/")
	r := &gateway.HTTPRoute{}
	require.NoError(s.t, s.Inner.Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, r))
	for _, ref := range r.Spec.Rules[0].BackendRefs {
		require.Zero(s.t, *ref.Weight)
	}
}

// TestEndsAtEveryWrite lets the process end once at each write of a map's life, before it was carried out or after, and
// checks that a new process brings everything to the same end.
func TestEndsAtEveryWrite(t *testing.T) {
	ended := errors.New("the process has ended")
	for _, carriedOut := range []bool{false, true} {
		for at := 1; ; at++ {
			s := newScene(t)
			s.service("chat")
			writes, dead, died := 0, false, false
			count := func() error {
				if writes++; writes == at {
					dead, died = true, true
				}
				if dead {
					return ended
				}
				return nil
			}
			s.Before = func(write string) error {
				s.mustHaveNoTraffic(write)
				switch {
				case dead:
					return ended
				case carriedOut:
					return nil
				}
				return count()
			}
			s.After = func(write string) error {
				s.mustBeKnown(write)
				if carriedOut {
					return count()
				}
				return nil
			}
			for n, stage := range stages {
				stage.do(s)
				s.restart()
				for range 20 {
					before := writes
					_, err := s.look("chat")
					if dead {
						require.Error(t, err)
						dead = false
						s.restart()
						continue
					}
					require.NoError(t, err)
					if writes == before {
						break
					}
				}
				require.Equal(t, stage.want, s.found(), "stage %d, ended at write %d, carried out: %v", n, at, carriedOut)
				if died {
					break // what follows is as in a life without an end
				}
			}
			if !died {
				require.Greater(t, at, 30, "the life is that long")
				break
			}
		}
	}
}

// TestAMapThatIsNotUpToDate is not published, without an event, and what was published stays.
func TestAMapThatIsNotUpToDate(t *testing.T) {
	for name, change := range map[string]func(*scene, *ome.InferenceService){
		"of another service by that name": func(s *scene, isvc *ome.InferenceService) {
			require.NoError(s.t, s.Inner.Delete(s.t.Context(), isvc))
			require.NoError(s.t, s.Inner.Create(s.t.Context(), &ome.InferenceService{ObjectMeta: metav1.ObjectMeta{
				Namespace: "prod", Name: "chat", UID: "another", Generation: 2, Annotations: isvc.Annotations}}))
		},
		"of no service": func(s *scene, isvc *ome.InferenceService) {
			require.NoError(s.t, s.Inner.Delete(s.t.Context(), isvc))
		},
		"of another owner": func(s *scene, _ *ome.InferenceService) {
			s.change("chat", func(tm *ome.TrafficMap) { tm.OwnerReferences = nil })
		},
		"of another source": func(s *scene, _ *ome.InferenceService) {
			s.changeStatus("chat", func(tm *ome.TrafficMap) { tm.Status.SourceUID = "another" })
		},
		"of a former generation": func(s *scene, isvc *ome.InferenceService) {
			isvc.Generation++
			require.NoError(s.t, s.Inner.Update(s.t.Context(), isvc))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			isvc := s.service("chat", a, b)
			s.settle("chat")
			s.compute("chat", b)
			change(s, isvc)
			s.Took()
			result, err := s.look("chat")
			require.NoError(t, err)
			assert.Equal(t, time.Minute, result.RequeueAfter)
			assert.Equal(t, []string{reported("False/InvalidOwner", "Unknown/InvalidOwner")}, s.Took())
			assert.Empty(t, s.Events())
			assert.Equal(t, []string{"prod/chat-global prod/worker-a=2 prod/worker-b=1", "InvalidOwner prod/chat-global"}, s.found())
		})
	}
}

// TestACacheThatIsBehind has the service looked up past the cache before its map is said to be out of date.
func TestACacheThatIsBehind(t *testing.T) {
	s := newScene(t)
	isvc := s.service("chat", a)
	isvc.Generation--
	require.NoError(t, s.Inner.Update(t.Context(), isvc))
	current := isvc.DeepCopy()
	current.Generation++
	s.publisher.Live = liveService{s.Inner, current}
	s.settle("chat")
	assert.Equal(t, "Published", s.published("chat"))
}

// liveService has a service that the cache does not have yet.
type liveService struct {
	client.Reader
	isvc *ome.InferenceService
}

func (l liveService) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if isvc, ok := o.(*ome.InferenceService); ok {
		l.isvc.DeepCopyInto(isvc)
		return nil
	}
	return l.Reader.Get(ctx, key, o, options...)
}

// TestWhatIsNotPublished are maps that nothing is written for but what is said of them.
func TestWhatIsNotPublished(t *testing.T) {
	opted := reported("False/Unpublished", "False/Unpublished")
	for name, tc := range map[string]struct {
		change func(*scene, *ome.InferenceService)
		want   []string
	}{
		"an edit that the routing controller is about to put right": {
			func(s *scene, _ *ome.InferenceService) {
				s.change("chat", func(tm *ome.TrafficMap) { tm.Generation++ })
			}, nil,
		},
		"the service opts out": {
			func(s *scene, isvc *ome.InferenceService) {
				isvc.Spec.Routing = &ome.RoutingSpec{Enabled: ptr.To(false)}
				require.NoError(s.t, s.Inner.Update(s.t.Context(), isvc))
			}, []string{opted},
		},
		"the service is being deleted": {
			func(s *scene, isvc *ome.InferenceService) {
				isvc.Finalizers = []string{"example.com/stays"}
				require.NoError(s.t, s.Inner.Update(s.t.Context(), isvc))
				require.NoError(s.t, s.Inner.Delete(s.t.Context(), isvc))
			}, []string{opted},
		},
		"there is no host for it": {
			func(s *scene, _ *ome.InferenceService) { s.gateway.HostTemplate = "" },
			[]string{reported("False/Withdrawn", "False/Withdrawn")},
		},
		"another publisher has published it": {
			func(s *scene, _ *ome.InferenceService) {
				s.changeStatus("chat", func(tm *ome.TrafficMap) {
					tm.Status.Publisher = &ome.TrafficMapPublisherStatus{PublisherName: "other", ClaimedTargets: []string{"x"}}
				})
			}, []string{reported("False/PublisherChanged", "Unknown/PublisherChanged")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			tc.change(s, s.service("chat", a))
			s.settle("chat")
			assert.Equal(t, tc.want, s.Took())
		})
	}
}

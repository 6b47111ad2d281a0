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
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// objects are all that an API server, or a cache of it, has. Objects are replaced, never changed.
type objects struct {
	deployment *modelplane.ModelDeployment
	placements map[string]*evenkeel.ReplicaPlacement
	replicas   map[string]*modelplane.ModelReplica
	endpoints  map[string]*modelplane.ModelEndpoint
	clusters   map[string]*modelplane.InferenceCluster
}

// sim is a hub in memory: an API server with its preconditions, a scheduler that keeps to the placement rules, a
// composer, and a clock. The controller reads from a cache that is brought up to date kind by kind when the test says so.
type sim struct {
	objects
	cache   objects
	matcher *placement.Matcher
	// pools of clusters, prepared once for each object.
	pools  map[*modelplane.InferenceCluster]*placement.Pools
	policy Policy
	caches CacheState
	now    time.Time
	// started is when each replica began to load.
	started map[types.UID]time.Time
	version int

	// created counts how often each placement name was created.
	created map[string]int
	// open are the moves begun for something that served, by slot, with the time they began.
	open map[int32]time.Time
	// services that select endpoints, nil for a hub without routes; and the backends that their routes name.
	services []*modelplane.ModelService
	backends map[types.NamespacedName]bool
	// went is when a route last ceased to name a backend, and unrouted what the process remembers of that.
	went, unrouted map[types.NamespacedName]time.Time
	// withdrawnAt is when requests began to be kept off a replica.
	withdrawnAt map[types.UID]time.Time
	// broken is the first rule that did not hold.
	broken error
	// deletions of replicas by this controller, in words.
	deletions []string
	// decided counts the states that were decided for.
	decided int
	// trace of all that was done, in words.
	trace []string
	// surged tells that a slot may have two replicas: the strategy is, or was, MakeBeforeBreak.
	surged bool
	// poolsChanged tells that nodes were taken away, so that more can be charged than there are.
	poolsChanged bool
}

var errSimStale = errors.New("stale")

func newSim(wanted int32, clusters ...*modelplane.InferenceCluster) *sim {
	s := &sim{
		objects: objects{
			deployment: testDeployment("chat", wanted),
			placements: map[string]*evenkeel.ReplicaPlacement{},
			replicas:   map[string]*modelplane.ModelReplica{},
			endpoints:  map[string]*modelplane.ModelEndpoint{},
			clusters:   map[string]*modelplane.InferenceCluster{},
		},
		matcher: placement.NewMatcher(),
		pools:   map[*modelplane.InferenceCluster]*placement.Pools{},
		policy:  DefaultPolicy(),
		now:     now,
		started: map[types.UID]time.Time{},
		created: map[string]int{},
		open:    map[int32]time.Time{},

		withdrawnAt: map[types.UID]time.Time{},
	}
	for _, c := range clusters {
		s.clusters[c.Name] = c
	}
	s.refresh()
	return s
}

// refresh brings the whole cache up to date.
func (s *sim) refresh() {
	for _, kind := range kinds {
		s.refreshKind(kind)
	}
}

var kinds = []string{"deployment", "placements", "replicas", "endpoints", "clusters"}

func (s *sim) refreshKind(kind string) {
	switch kind {
	case "deployment":
		s.cache.deployment = s.deployment
	case "placements":
		s.cache.placements = maps.Clone(s.placements)
	case "replicas":
		s.cache.replicas = maps.Clone(s.replicas)
	case "endpoints":
		s.cache.endpoints = maps.Clone(s.endpoints)
	case "clusters":
		s.cache.clusters = maps.Clone(s.clusters)
	}
}

func (s *sim) poolsOf(c *modelplane.InferenceCluster) *placement.Pools {
	if s.pools[c] == nil {
		s.pools[c] = placement.PreparePools(c.Status.GPUPools)
	}
	return s.pools[c]
}

func (s *sim) next() string {
	s.version++
	return fmt.Sprint(s.version)
}

// observation is what the controller sees, in the order in which Go happens to walk its maps: a different one each time.
func (s *sim) observation() Observation {
	o := Observation{
		Deployment:    s.cache.deployment,
		SchedulerName: "evenkeel",
		CacheState:    s.caches,
		Matcher:       s.matcher,
		Policy:        s.policy,
		Traffic:       s.traffic(),
		Settings:      DefaultSettings(),
		Now:           s.now,
	}
	for _, p := range s.cache.placements {
		o.Placements = append(o.Placements, p)
	}
	for _, r := range s.cache.replicas {
		o.Replicas = append(o.Replicas, r)
	}
	for _, e := range s.cache.endpoints {
		o.Endpoints = append(o.Endpoints, e)
	}
	for _, c := range s.cache.clusters {
		o.Clusters = append(o.Clusters, Cluster{InferenceCluster: c, Pools: s.poolsOf(c)})
	}
	return o
}

// reconcile decides once and does the first actions of the result; the process is killed before the next one. It tells
// how many actions there were.
func (s *sim) reconcile(killedAfter int) int {
	s.decided++
	result := Decide(s.observation())
	for i, a := range result.Actions {
		if i == killedAfter {
			clear(s.unrouted)
			return len(result.Actions)
		}
		err := s.apply(a)
		s.note("%s -> %v", told([]Action{a})[0], err)
		if err != nil {
			return len(result.Actions)
		}
		s.check()
	}
	d := s.deployment.DeepCopy()
	d.Status.Replicas = &modelplane.ReplicaCounts{Total: result.Status.Total, Ready: result.Status.Ready}
	d.Status.Conditions = result.Status.Conditions
	s.deployment = d
	return len(result.Actions)
}

func (s *sim) apply(action Action) error {
	switch a := action.(type) {
	case CreatePlacement:
		return s.createPlacement(a)
	case UpdatePlacement:
		old := s.placements[a.Placement.Name]
		if old == nil || old.ResourceVersion != a.Placement.ResourceVersion {
			return errSimStale
		}
		p := a.Placement.DeepCopy()
		if !equality.Semantic.DeepEqual(old.Spec, p.Spec) {
			p.Generation++
		}
		s.put(p)
	case AssignAdopted:
		old := s.placements[a.Placement.Name]
		if old == nil || old.ResourceVersion != a.Placement.ResourceVersion {
			return errSimStale
		}
		s.assign(old, a.Assignment, evenkeel.ReasonAdopted)
	case SetPlacementStatus:
		return s.setPlacementStatus(a)
	case DeletePlacement:
		old := s.placements[a.Placement.Name]
		if old == nil {
			return nil
		}
		if old.UID != a.Placement.UID || old.ResourceVersion != a.Placement.ResourceVersion || s.replicas[a.AbsentReplica] != nil {
			return errSimStale
		}
		delete(s.placements, old.Name)
	case CreateReplica:
		return s.createReplica(a)
	case UpdateReplica:
		old := s.replicas[a.Replica.Name]
		if old == nil || old.ResourceVersion != a.Observed.ResourceVersion {
			return errSimStale
		}
		r := old.DeepCopy()
		r.Spec, r.Labels, r.OwnerReferences, r.ResourceVersion = a.Replica.Spec, a.Replica.Labels, a.Replica.OwnerReferences, s.next()
		s.replicas[r.Name] = r
	case DeleteReplica:
		return s.deleteReplica(a)
	case ApplyEndpoint:
		s.applyEndpoint(a.Endpoint.DeepCopy())
	case HurryService:
		s.hurry(a)
	case DeleteEndpoint:
		if old := s.endpoints[a.Endpoint.Name]; old != nil && old.UID == a.Endpoint.UID {
			delete(s.endpoints, old.Name)
		}
	}
	return nil
}

func (s *sim) put(p *evenkeel.ReplicaPlacement) {
	p.ResourceVersion = s.next()
	s.placements[p.Name] = p
}

func (s *sim) createPlacement(a CreatePlacement) error {
	if a.AdoptUID != "" {
		r := s.replicas[a.Placement.Spec.Adopts]
		if r == nil || r.UID != a.AdoptUID || r.DeletionTimestamp != nil {
			return errSimStale
		}
	}
	if s.placements[a.Placement.Name] != nil {
		return errSimStale
	}
	p := a.Placement.DeepCopy()
	p.UID, p.Generation, p.CreationTimestamp = types.UID(s.next()), 1, metav1.NewTime(s.now)
	s.put(p)
	s.created[p.Name]++
	return nil
}

func (s *sim) setPlacementStatus(a SetPlacementStatus) error {
	old := s.placements[a.Placement.Name]
	if old == nil || old.UID != a.Placement.UID || s.replicas[a.AbsentReplica] != nil {
		return errSimStale
	}
	p := old.DeepCopy()
	p.Status.Move = a.Move
	p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c metav1.Condition) bool { return isOwn(c.Type) })
	p.Status.Conditions = append(p.Status.Conditions, a.Conditions...)
	s.put(p)
	return nil
}

func (s *sim) createReplica(a CreateReplica) error {
	p := s.placements[a.Placement.Name]
	if p == nil || p.UID != a.Placement.UID || s.replicas[a.Replica.Name] != nil ||
		meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionReady) != nil ||
		meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionDisruptionTarget) {
		return errSimStale
	}
	s.addReplica(a.Replica.DeepCopy())
	return nil
}

func (s *sim) addReplica(r *modelplane.ModelReplica) {
	r.UID, r.ResourceVersion, r.CreationTimestamp = types.UID(s.next()), s.next(), metav1.NewTime(s.now)
	s.replicas[r.Name] = r
	s.started[r.UID] = s.now
	if !s.poolsChanged {
		s.checkCharges(r.Spec.ClusterName)
	}
}

func (s *sim) deleteReplica(a DeleteReplica) error {
	old := s.replicas[a.Replica.Name]
	if old == nil || old.UID != a.Replica.UID || old.DeletionTimestamp != nil {
		return nil
	}
	if a.Target != nil {
		p := s.placements[a.Target.Name]
		if p == nil || p.UID != a.Target.UID || meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionDisruptionTarget) {
			return errSimStale
		}
	}
	if a.Serving != nil {
		if r := s.replicas[a.Serving.Name]; r == nil || r.UID != a.Serving.UID || !isReady(r) {
			return errSimStale
		}
	}
	if s.endpoints[a.AbsentEndpoint] != nil {
		return errSimStale
	}
	s.deletions = append(s.deletions, a.String())
	if slotOf := s.slotOf(old.Name); slotOf != nil && a.Cause != evenkeel.CauseScaleDown && a.Cause != evenkeel.CauseNotServing {
		s.checkTarget(*slotOf, old, a)
		if s.reached(old) && !s.servedBy(*slotOf, old.Name) {
			s.settleOpen()
			if len(s.open) >= s.policy.MaxUnavailable {
				s.breaks("replica %s is deleted (%s) while the moves of slots %v are not over", old.Name, a.Cause, slices.Sorted(maps.Keys(s.open)))
			}
			s.open[*slotOf] = s.now
		}
	}
	s.checkRoutes(old)
	s.terminate(old)
	return nil
}

func (s *sim) terminate(old *modelplane.ModelReplica) {
	s.note("replica %s terminates", old.Name)
	r := old.DeepCopy()
	r.DeletionTimestamp, r.ResourceVersion = ptr.To(metav1.NewTime(s.now)), s.next()
	s.replicas[r.Name] = r
}

func isReady(r *modelplane.ModelReplica) bool {
	return r.DeletionTimestamp == nil && meta.IsStatusConditionTrue(r.Status.Conditions, modelplane.ConditionReady)
}

// slotOf gives the slot of the placement whose replica has that name.
func (s *sim) slotOf(replica string) *int32 {
	for _, p := range s.placements {
		if !finished(p) && (p.Spec.Adopts != "" || p.Status.Assignment != nil) && nameOf(p) == replica {
			return &p.Spec.Slot
		}
	}
	return nil
}

func finished(p *evenkeel.ReplicaPlacement) bool {
	return meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionMoved)
}

// settle lets everything run, with an up-to-date cache, until nothing moves any more even if time passes.
func (s *sim) settle() error {
	const rounds = 600
	quiet := 0
	for range rounds {
		s.refresh()
		moved := s.reconcile(-1) > 0
		moved = s.schedule(true) || moved
		moved = s.compose(30*time.Second, 10*time.Second) || moved
		if s.broken != nil {
			return s.broken
		}
		if moved {
			quiet = 0
			s.now = s.now.Add(5 * time.Second)
			continue
		}
		// Long enough for every time-out but the history's.
		s.now = s.now.Add(4 * time.Minute)
		if quiet++; quiet == 10 {
			return nil
		}
	}
	return fmt.Errorf("still moving after %d rounds: next is %v", rounds, told(Decide(s.observation()).Actions))
}

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
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// state is an observation put in order, and what was decided so far.
type state struct {
	Observation
	selector *modelplane.LabelSelector
	// tolerations of the deployment, from its template and annotation.
	tolerations []modelplane.Toleration
	engines     []evenkeel.EngineRequirements
	// invalid is why the template's device selectors cannot be used.
	invalid  error
	clusters map[string]*Cluster
	// candidates counts the clusters that the selector selects.
	candidates int
	// slots by number, those with a unit only.
	slots []*slot
	// attempts is the last attempt by slot number, of placements of any owner.
	attempts map[int32]int32
	// taken are the numbers of slots that this pass begins.
	taken map[int32]bool
	// history are the finished placements.
	history []*evenkeel.ReplicaPlacement
	// orphans are alive replicas of the deployment that no placement accounts for, by name.
	orphans []*modelplane.ModelReplica
	// replicas of the deployment by name, terminating ones too.
	replicas map[string]*modelplane.ModelReplica

	// turns are what is left of the fleet's limits.
	turns *turns
	// hurried are the services that this pass asks to look again.
	hurried map[types.NamespacedName]bool

	// toldLeaving are the causes that an event is made of, leaving what it says of each, and leavingNow how many replicas it
	// is about.
	toldLeaving map[string]bool
	leaving     []string
	leavingNow  int

	result   Result
	deadline time.Time
}

func newState(o Observation) *state {
	s := &state{
		Observation: o,
		engines:     placement.RequirementsOf(o.Deployment.Spec.Template.Spec.Engines),
		clusters:    make(map[string]*Cluster, len(o.Clusters)),
		attempts:    map[int32]int32{},
		hurried:     map[types.NamespacedName]bool{},
		toldLeaving: map[string]bool{},
		taken:       map[int32]bool{},
	}
	s.selector = o.Deployment.Spec.Template.Spec.ClusterSelector
	if o.CacheState == CacheResolved {
		s.selector = placement.MergeSelectors(s.selector, o.CacheSelector)
	}
	s.invalid = o.Matcher.Validate(s.engines)
	s.readTolerations()
	for i := range o.Clusters {
		c := &o.Clusters[i]
		s.clusters[c.Name] = c
		if placement.SelectorMatches(s.selector, c.Labels) {
			s.candidates++
		}
	}
	taken := s.addReplicas()
	s.addPlacements(taken)
	for u := range s.units {
		u.keptOff = s.keptOff(u)
		u.serves = s.serves(u)
		u.cramped = s.crampedIn(u)
	}
	return s
}

func (s *state) readTolerations() {
	var err error
	s.tolerations, err = tolerationsOf(s.Deployment)
	if err != nil {
		s.event(true, EventInvalidTolerationSeconds, err.Error())
	}
}

// crampedIn tells whether an assigned unit's nodes were counted as free because something was to leave them first that
// now is to stay until the unit serves.
func (s *state) crampedIn(u *unit) bool {
	return s.Policy.Strategy == evenkeel.StrategyMakeBeforeBreak && u.uncreated() && !u.placement.Spec.Surge &&
		slices.ContainsFunc(u.slot.before(u), func(before *unit) bool {
			return before.alive() && before.clusterName() == u.clusterName() && before.placement.Name == u.placement.Spec.Replaces
		})
}

// addReplicas sorts out which replicas are the deployment's, and gives the names that others have.
func (s *state) addReplicas() (taken map[string]bool) {
	taken = map[string]bool{}
	s.replicas = map[string]*modelplane.ModelReplica{}
	for _, r := range s.Replicas {
		if s.owns(r) {
			s.replicas[r.Name] = r
		} else {
			taken[r.Name] = true
		}
	}
	return taken
}

// owns tells whether an object is the deployment's: its controller is the deployment, whatever somebody may have done to
// its labels, or it has none and carries the deployment's name, as one that was made for it to adopt.
func (s *state) owns(o metav1.Object) bool {
	if controller := metav1.GetControllerOf(o); controller != nil {
		return controller.UID == s.Deployment.UID
	}
	return o.GetLabels()[modelplane.LabelDeployment] == s.Deployment.Name
}

func (s *state) addPlacements(taken map[string]bool) {
	slots := map[int32]*slot{}
	matched := map[string]bool{}
	for _, p := range sortedPlacements(s.Placements) {
		number, attempt, ok := s.numbersOf(p)
		if ok {
			s.attempts[number] = max(s.attempts[number], attempt)
		}
		if !metav1.IsControlledBy(p, s.Deployment) || p.Spec.DeploymentName != s.Deployment.Name || p.DeletionTimestamp != nil {
			continue
		}
		if meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionMoved) {
			s.history = append(s.history, p)
			continue
		}
		if slots[number] == nil {
			slots[number] = &slot{number: number}
			s.slots = append(s.slots, slots[number])
		}
		u := s.newUnit(p, taken, matched)
		u.slot = slots[number]
		u.slot.units = append(u.slot.units, u)
	}
	slices.SortFunc(s.slots, func(a, b *slot) int { return cmp.Compare(a.number, b.number) })
	for _, name := range slices.Sorted(maps.Keys(s.replicas)) {
		if r := s.replicas[name]; !matched[name] && r.DeletionTimestamp == nil {
			s.orphans = append(s.orphans, r)
		}
	}
}

func (s *state) newUnit(p *evenkeel.ReplicaPlacement, taken, matched map[string]bool) *unit {
	u := &unit{placement: p, name: placement.ReplicaNameOf(p)}
	u.unfounded = p.Spec.Replaces != "" && !p.Spec.Surge && s.placementNamed(p.Spec.Replaces) == nil
	if a := p.Status.Assignment; a != nil {
		u.cluster = s.clusters[a.ClusterName]
	}
	switch {
	case u.name == "":
	case taken[u.name] || matched[u.name]:
		u.nameTaken = true
	default:
		matched[u.name] = true
		u.replica = s.replicas[u.name]
	}
	return u
}

// numbersOf gives slot and attempt of a placement, or what a hand-made object takes of them by its name.
func (s *state) numbersOf(p *evenkeel.ReplicaPlacement) (slot, attempt int32, ok bool) {
	if p.Spec.DeploymentName == s.Deployment.Name && metav1.IsControlledBy(p, s.Deployment) {
		return p.Spec.Slot, p.Spec.Attempt, true
	}
	rest, found := strings.CutPrefix(p.Name, s.Deployment.Name+"-")
	first, second, two := strings.Cut(rest, "-")
	n, err := strconv.ParseInt(first, 10, 32)
	m, err2 := strconv.ParseInt(second, 10, 32)
	if !found || !two || err != nil || err2 != nil {
		return 0, 0, false
	}
	return int32(n), int32(m), true
}

// mayPlace tells whether new placements may be made at all.
func (s *state) mayPlace() bool {
	return s.invalid == nil && !s.Priority.Missing && (s.CacheState == CacheNone || s.CacheState == CacheResolved)
}

// freeSlot gives the lowest number that no slot has, and takes it for a placement that this pass creates.
func (s *state) freeSlot() *slot {
	number := placement.LowestFreeIndex(func(i int32) bool {
		return s.taken[i] || slices.ContainsFunc(s.slots, func(x *slot) bool { return x.number == i })
	})
	s.taken[number] = true
	return &slot{number: number}
}

func (s *state) act(a Action) { s.result.Actions = append(s.result.Actions, a) }

// wake asks to decide again at a time, if that is in the future.
func (s *state) wake(at time.Time) {
	if at.After(s.Now) && (s.deadline.IsZero() || at.Before(s.deadline)) {
		s.deadline = at
	}
}

func (s *state) units(yield func(*unit) bool) {
	for _, sl := range s.slots {
		for _, u := range sl.units {
			if !yield(u) {
				return
			}
		}
	}
}

func sortedPlacements(in []*evenkeel.ReplicaPlacement) []*evenkeel.ReplicaPlacement {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b *evenkeel.ReplicaPlacement) int {
		return cmp.Or(
			cmp.Compare(a.Spec.Slot, b.Spec.Slot),
			cmp.Compare(a.Spec.Attempt, b.Spec.Attempt),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return out
}

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
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// maxExcluded is how many clusters a placement can exclude by its schema.
const maxExcluded = 64

// newPlacement is the next attempt of a slot.
func (s *state) newPlacement(sl *slot) *evenkeel.ReplicaPlacement {
	s.attempts[sl.number]++
	attempt := s.attempts[sl.number]
	d := s.Deployment
	p := &evenkeel.ReplicaPlacement{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       d.Namespace,
			Name:            PlacementName(d.Name, sl.number, attempt),
			Labels:          map[string]string{evenkeel.LabelDeployment: d.Name},
			OwnerReferences: []metav1.OwnerReference{s.ownerReference()},
		},
		Spec: evenkeel.ReplicaPlacementSpec{
			DeploymentName:    d.Name,
			Slot:              sl.number,
			Attempt:           attempt,
			PriorityClassName: s.Priority.ClassName,
			Priority:          s.Priority.Value,
			PreemptionPolicy:  s.Priority.PreemptionPolicy,
		},
	}
	s.wish(&p.Spec)
	return p
}

func (s *state) ownerReference() metav1.OwnerReference {
	return *metav1.NewControllerRef(s.Deployment, modelplane.GroupVersion.WithKind("ModelDeployment"))
}

// wish sets what the scheduler reads and a person may edit in the template.
func (s *state) wish(spec *evenkeel.ReplicaPlacementSpec) {
	spec.SchedulerName = s.SchedulerName
	spec.Tolerations = s.tolerations
	spec.ClusterSelector = s.selector
	spec.Engines = s.engines
	spec.ModelCacheName = s.cacheName()
}

// refresh brings pending placements to the template as it is now. Assigned ones keep what they were assigned for.
func (s *state) refresh() {
	if !s.mayPlace() {
		return
	}
	for u := range s.units {
		if !u.pending() || u.removed {
			continue
		}
		p := u.placement.DeepCopy()
		s.wish(&p.Spec)
		rejected := s.stillRejected(u)
		setRejected(p, rejected)
		p.Spec.ExcludedClusters = s.exclusions(u.slot, u)
		p.Spec.Surge = u.placement.Spec.Replaces != "" && s.surges(u.slot)
		if !equality.Semantic.DeepEqual(p.Spec, u.placement.Spec) {
			s.act(UpdatePlacement{Placement: p})
		}
	}
}

// exclusions are the clusters that an attempt of the slot must not go to, sorted: those that the slot's replicas leave
// for a cause about the cluster, those that refused the replica not long ago, and what the attempt (nil for a new one)
// excludes already, for as long as the deployment's replicas would have to leave it.
func (s *state) exclusions(sl *slot, attempt *unit) []string {
	var excluded []string
	for _, u := range sl.units {
		if u.leaving() && u.cause.aboutCluster && (u.replica != nil || u.uncreated()) {
			excluded = append(excluded, u.clusterName())
		}
	}
	if attempt != nil {
		excluded = append(excluded, s.stillRejected(attempt)...)
		for _, name := range attempt.placement.Spec.ExcludedClusters {
			if s.repels(name) {
				excluded = append(excluded, name)
			}
		}
	}
	slices.Sort(excluded)
	excluded = slices.Compact(excluded)
	return excluded[:min(len(excluded), maxExcluded)]
}

func rejectedClusters(p *evenkeel.ReplicaPlacement) []string {
	list := p.Annotations[evenkeel.AnnotationRejectedClusters]
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

func setRejected(p *evenkeel.ReplicaPlacement, clusters []string) {
	if len(clusters) == 0 {
		delete(p.Annotations, evenkeel.AnnotationRejectedClusters)
		return
	}
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[evenkeel.AnnotationRejectedClusters] = strings.Join(clusters, ",")
}

// stillRejected are the clusters that refused the slot's replica, until there has been nothing else for a while: then
// they are tried again, since the reason may be gone.
func (s *state) stillRejected(u *unit) []string {
	rejected := rejectedClusters(u.placement)
	if len(rejected) == 0 || !u.unplaceable() {
		return rejected
	}
	due := u.placement.CreationTimestamp.Add(s.Settings.RejectionRetry)
	s.wake(due)
	if s.Now.Before(due) {
		return rejected
	}
	return nil
}

// excludeRejected hands on to a next attempt which clusters have refused the replica.
func (s *state) excludeRejected(sl *slot, next *evenkeel.ReplicaPlacement) {
	last := sl.last()
	c := last.rejected()
	if c == nil || c.Reason != evenkeel.ReasonRefused {
		return
	}
	rejected := append(rejectedClusters(last.placement), last.clusterName())
	slices.Sort(rejected)
	rejected = slices.Compact(rejected)
	rejected = rejected[:min(len(rejected), maxExcluded/2)]
	setRejected(next, rejected)
	excluded := append(slices.Clone(next.Spec.ExcludedClusters), rejected...)
	slices.Sort(excluded)
	next.Spec.ExcludedClusters = slices.Compact(excluded)
}

// backoff is how long to wait after a refusal, twice as long for each one before it.
func (s *state) backoff(u *unit) time.Duration {
	wait := s.Settings.RejectionBackoff
	for range rejectedClusters(u.placement) {
		if wait *= 2; wait >= s.Settings.RejectionRetry {
			return s.Settings.RejectionRetry
		}
	}
	return wait
}

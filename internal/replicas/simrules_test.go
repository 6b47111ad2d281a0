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
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// checkCharges checks that no more nodes are charged than there are.
func (s *sim) checkCharges(cluster string) {
	c := s.clusters[cluster]
	if c == nil {
		return
	}
	charged := map[string]int64{}
	for _, r := range s.replicas {
		if r.Spec.ClusterName == cluster {
			for pool, n := range placement.ReplicaCost(&r.Spec) {
				charged[pool] += n
			}
		}
	}
	for _, pool := range c.Status.GPUPools {
		if charged[pool.Name] > pool.Nodes {
			s.breaks("%d nodes of %s/%s are charged, of %d", charged[pool.Name], cluster, pool.Name, pool.Nodes)
		}
	}
}

// settleOpen closes the moves that are over: the slot serves, has no destination or is not wanted, or had its time.
func (s *sim) settleOpen() {
	for number, since := range s.open {
		over := s.now.Sub(since) >= s.policy.ReadyTimeout || s.caches == CacheMissing
		var last *evenkeel.ReplicaPlacement
		for _, p := range s.placements {
			if p.Spec.Slot != number || finished(p) {
				continue
			}
			if last == nil || p.Spec.Attempt > last.Spec.Attempt {
				last = p
			}
			if p.Status.Assignment != nil && s.replicas[nameOf(p)] != nil && isReady(s.replicas[nameOf(p)]) {
				over = true
			}
		}
		if last == nil || last.Status.Assignment == nil && meta.IsStatusConditionFalse(last.Status.Conditions, evenkeel.ConditionScheduled) {
			over = true
		}
		if over {
			delete(s.open, number)
		}
	}
}

func (s *sim) note(format string, args ...any) {
	s.trace = append(s.trace, s.now.Format(time.TimeOnly)+" "+fmt.Sprintf(format, args...))
}

func (s *sim) breaks(format string, args ...any) {
	if s.broken == nil {
		s.broken = fmt.Errorf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(s.trace, "\n"))
	}
}

// check looks for what must never be.
func (s *sim) check() {
	alive := map[int32][]string{}
	owner := map[string]string{}
	for _, p := range s.placements {
		if finished(p) || p.Status.Assignment == nil {
			continue
		}
		name := nameOf(p)
		if other := owner[name]; other != "" && s.replicas[name] != nil {
			s.breaks("placements %s and %s both stand for replica %s", other, p.Name, name)
		}
		owner[name] = p.Name
		if r := s.replicas[name]; r != nil && r.DeletionTimestamp == nil {
			alive[p.Spec.Slot] = append(alive[p.Spec.Slot], name)
		}
	}
	for number, names := range alive {
		if len(names) > 2 || len(names) > 1 && !s.surged {
			s.breaks("slot %d has %d replicas: %v", number, len(names), names)
		}
	}
}

// placed gives where the replicas are: "east/0(h)".
func (s *sim) placed() []string {
	out := []string{}
	for _, r := range s.replicas {
		if r.DeletionTimestamp == nil && r.Labels[modelplane.LabelDeployment] == "chat" {
			out = append(out, fmt.Sprintf("%s/%s", r.Spec.ClusterName, r.Labels[modelplane.LabelReplicaIndex]))
		}
	}
	slices.Sort(out)
	return out
}

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
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// tolerationsOf gives a deployment's tolerations, with the seconds that its annotation evenkeel.io/toleration-seconds
// has for those that have none of their own. An annotation that cannot be read limits nothing, and is an error to tell.
func tolerationsOf(d *modelplane.ModelDeployment) ([]modelplane.Toleration, error) {
	tolerations := d.Spec.Template.Spec.Tolerations
	text := d.Annotations[evenkeel.AnnotationTolerationSeconds]
	if text == "" {
		return tolerations, nil
	}
	seconds := map[string]int64{}
	if err := json.Unmarshal([]byte(text), &seconds); err != nil {
		return tolerations, fmt.Errorf(
			"annotation %s is no JSON object of whole seconds by toleration key, and limits nothing until it is corrected, for example to {\"modelplane.ai/maintenance\": 300}: %w",
			evenkeel.AnnotationTolerationSeconds, err)
	}
	limited := slices.Clone(tolerations)
	for i := range limited {
		if n, found := seconds[limited[i].Key]; found && limited[i].TolerationSeconds == nil && limited[i].Effect != modelplane.TaintEffectNoSchedule {
			limited[i].TolerationSeconds = &n
		}
	}
	return limited, nil
}

// stay is how long a replica may stay in spite of taints that its deployment tolerates for a limited time.
type stay struct {
	// overdue are those taints for which the time is over.
	overdue []modelplane.Taint
	// next is the taint whose time ends first, nil if none is running, and until when.
	next  *modelplane.Taint
	until time.Time
	// seen are conditions that remember since when taints without a time have been seen.
	seen []metav1.Condition
}

// stayOf looks at the NoExecute taints that are tolerated for a limited time. The time counts from when the taint was
// added; if the taint does not say, from when it was first seen on the replica's cluster, which a condition of the
// placement remembers, so that a manager that starts anew does not give the replica more time. The condition goes with
// the taint, and a taint that comes back is a new one.
func (s *state) stayOf(u *unit) stay {
	var result stay
	if u.cluster == nil {
		return result
	}
	taints := u.cluster.Spec.Taints
	for i := range taints {
		taint := &taints[i]
		limit, limited, _ := placement.Stay(s.tolerations, taint)
		if !limited {
			continue
		}
		since, known := placement.TaintAddedAt(u.cluster.InferenceCluster, taint)
		if !known {
			c := s.seenCondition(u, taint)
			result.seen = append(result.seen, c)
			since = c.LastTransitionTime.Time
		}
		until := since.Add(limit)
		switch {
		case !s.Now.Before(until):
			result.overdue = append(result.overdue, *taint)
		case result.next == nil || until.Before(result.until):
			result.next, result.until = taint, until
		}
	}
	if result.next != nil {
		s.wake(result.until)
	}
	return result
}

func (s *state) seenCondition(u *unit, taint *modelplane.Taint) metav1.Condition {
	h := fnv.New64a()
	for _, part := range []string{taint.Key, "\x00", taint.Value, "\x00", string(taint.Effect)} {
		_, _ = h.Write([]byte(part)) // a hash takes all
	}
	return condition(u.placement.Status.Conditions, u.placement.Generation, s.Now,
		evenkeel.ConditionTaintSeenPrefix+strconv.FormatUint(h.Sum64(), 36), metav1.ConditionTrue, evenkeel.ReasonNoTimeAdded,
		Bounded(placement.TaintString(*taint)))
}

// tolerating is the cause, not settled, of a replica that must leave when a time is over.
func tolerating(st stay) *cause {
	if st.next == nil {
		return nil
	}
	return &cause{
		reason:       evenkeel.CauseTolerating,
		message:      Bounded(fmt.Sprintf("the taint %s is tolerated until %s", placement.TaintString(*st.next), st.until.UTC().Format(time.RFC3339))),
		aboutCluster: true,
	}
}

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
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// now is the time of all scenes.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const atLeast80Gi = `device.capacity["gpu.acme.test"].memory.compareTo(quantity("80Gi")) >= 0`

// scene is an observation written in words, one object a line:
//
//	wants 2 [tolerates KEY [for SECONDS]] [selects K=V] [engine NAME] [cel EXPRESSION] [cache STATE] [class NAME missing]
//	    [composed] [surge] [hold] [paused] [unavailable N] [within DURATION] [degraded DURATION]
//	east h:2,n:1 [NotReady [since AGE]] [NoGateway] [NoSchedule] [NoExecute [added AGE]] [label K=V]
//	0-1 [for 0-0] [adopts NAME] [excluding C] pending|unplaceable|on C/I[(POOL)] [uncreated|loading|ready|terminating|gone]
//	    [leaving CAUSE] [settling CAUSE] [refused|taken] [moved CAUSE] [age DURATION]
//	    [surge] [unrouted|routed] [withdrawing|withdrawn AGE] [seen AGE]
//	replica NAME on C/I[(POOL)] [ready] [terminating] [foreign] [without pool]
//	endpoint C/I [stripped [AGE] [unrouted AGE]]
//	service K=V [asked AGE]
//	route C/I
//	fleet moves N of MAX | fleet loading CLUSTER N of MAX | fleet shows CAUSE on N
//
// A placement's number stands for its name, and its conditions say what the words say, since the given age.
type scene struct {
	t *testing.T
	Observation
}

func newScene(t *testing.T, lines ...string) *scene {
	t.Helper()
	s := &scene{t: t, Observation: Observation{
		Deployment:    testDeployment("chat", 1),
		SchedulerName: "evenkeel",
		Matcher:       placement.NewMatcher(),
		Policy:        DefaultPolicy(),
		Settings:      DefaultSettings(),
		Now:           now,
	}}
	for _, line := range lines {
		words := strings.Fields(line)
		switch first := words[0]; {
		case first == "wants":
			s.deployment(words[1:])
		case first == "replica":
			s.replica(words[1:])
		case first == "endpoint":
			s.endpoint(words[1], words[2:]...)
		case first == "service":
			s.service(words[1:])
		case first == "route":
			s.route(words[1])
		case first == "fleet":
			s.fleet(words[1:])
		case first[0] >= '0' && first[0] <= '9':
			s.placement(first, words[1:])
		default:
			s.cluster(first, words[1:])
		}
	}
	s.fillInMessages()
	return s
}

// fillInMessages gives conditions that hold still the messages they would have.
func (s *scene) fillInMessages() {
	state := newState(s.Observation)
	state.findCauses()
	for u := range state.units {
		c := u.condition(evenkeel.ConditionDisruptionTarget)
		switch {
		case c == nil:
		case c.Reason == evenkeel.CauseScaleDown:
			c.Message = "fewer replicas are wanted"
		case u.cause != nil && u.cause.reason == c.Reason:
			c.Message = u.cause.message
		}
		if u.leaving() && c != nil && c.Status == metav1.ConditionTrue && c.Reason != evenkeel.CauseScaleDown && u.replica != nil {
			u.placement.Status.Move = &evenkeel.Move{
				From: u.clusterName(), Cause: c.Reason, Step: evenkeel.StepWaiting, Reason: evenkeel.LeavingBudget, WaitingFor: state.explainBudget(),
			}
		}
	}
}

func (s *scene) deployment(words []string) {
	d := s.Deployment
	n, err := strconv.Atoi(words[0])
	require.NoError(s.t, err)
	d.Spec.Replicas = int32(n)
	spec := &d.Spec.Template.Spec
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "tolerates":
			i++
			toleration := modelplane.Toleration{Key: words[i], Operator: modelplane.TolerationOpExists}
			if i+2 < len(words) && words[i+1] == "for" {
				i += 2
				toleration.TolerationSeconds = ptr.To(int64(s.number(words[i])))
			}
			spec.Tolerations = append(spec.Tolerations, toleration)
		case "selects":
			i++
			spec.ClusterSelector = &modelplane.LabelSelector{MatchLabels: pairs(words[i])}
		case "engine":
			i++
			spec.Engines[0].Name = words[i]
		case "cel":
			i++
			spec.Engines[0].Members[0].NodeSelector.Devices[0].Selectors[0].CEL = words[i]
		case "copies":
			i++
			copies, err := strconv.Atoi(words[i])
			require.NoError(s.t, err)
			spec.Engines[0].Copies = ptr.To(int32(copies))
		case "cache":
			i++
			spec.ModelCacheRef = &modelplane.NameReference{Name: "weights"}
			s.CacheState = map[string]CacheState{"unresolved": CacheUnresolved, "missing": CacheMissing, "resolved": CacheResolved}[words[i]]
			require.NotEqual(s.t, CacheNone, s.CacheState)
		case "class":
			s.Priority = Priority{ClassName: words[i+1], Missing: true}
			i += 2
		case "composed":
			s.Composed = true
		case "within":
			i++
			s.Policy.ReadyTimeout, _ = time.ParseDuration(words[i])
		case "paused":
			s.Policy.Paused = true
		case "surge":
			s.Policy.Strategy = evenkeel.StrategyMakeBeforeBreak
		case "hold":
			s.Policy.WhenUnplaceable = evenkeel.WhenUnplaceableHold
		case "unavailable":
			i++
			s.Policy.MaxUnavailable = s.number(words[i])
		case "degraded":
			i++
			s.Settings.DegradedAfter = s.duration(words[i])
		case "scheduled":
			i++
			d.Status.Conditions = append(d.Status.Conditions, metav1.Condition{
				Type: modelplane.ConditionReplicasScheduled, Status: metav1.ConditionFalse, Reason: words[i],
			})
		default:
			s.t.Fatalf("deployment: what is %q?", words[i])
		}
	}
}

func pairs(list string) map[string]string {
	m := map[string]string{}
	for _, pair := range strings.Split(list, ",") {
		k, v, _ := strings.Cut(pair, "=")
		m[k] = v
	}
	return m
}

func (s *scene) cluster(name string, words []string) {
	c := testCluster(s.t, name, words)
	s.Clusters = append(s.Clusters, Cluster{InferenceCluster: c, Pools: placement.PreparePools(c.Status.GPUPools)})
}

// where reads "east/0" or "east/0(n)".
func where(t *testing.T, text string) (cluster string, index int32, pool string) {
	t.Helper()
	place, rest, found := strings.Cut(text, "(")
	pool = "h"
	if found {
		pool = strings.TrimSuffix(rest, ")")
	}
	cluster, number, _ := strings.Cut(place, "/")
	n, err := strconv.Atoi(number)
	require.NoError(t, err)
	return cluster, int32(n), pool
}

func (s *scene) placement(numbers string, words []string) {
	p := s.newTestPlacement(numbers)
	age := 2 * time.Minute
	if i := slices.Index(words, "age"); i >= 0 {
		var err error
		age, err = time.ParseDuration(words[i+1])
		require.NoError(s.t, err)
		words = slices.Delete(slices.Clone(words), i, i+2)
	}
	since := metav1.NewTime(now.Add(-age))
	p.CreationTimestamp = since
	set := func(conditionType string, status metav1.ConditionStatus, reason string) {
		p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{
			Type: conditionType, Status: status, Reason: reason, LastTransitionTime: since, ObservedGeneration: 1,
		})
	}
	for i := 0; i < len(words); i++ {
		switch word := words[i]; word {
		case "for":
			i++
			p.Spec.Replaces = "chat-" + words[i]
		case "adopts":
			i++
			p.Spec.Adopts = words[i]
		case "excluding":
			i++
			p.Spec.ExcludedClusters = strings.Split(words[i], ",")
		case "pending":
		case "surge":
			p.Spec.Surge = true
		case "older":
			p.Spec.Engines[0].Name = "older"
		case "routed":
			set(evenkeel.ConditionServing, metav1.ConditionTrue, evenkeel.ReasonRouted)
		case "unrouted":
			set(evenkeel.ConditionServing, metav1.ConditionFalse, evenkeel.ReasonNotRouted)
		case "withdrawing", "withdrawn", "seen":
			i++
			p.Status.Conditions = append(p.Status.Conditions, s.clock(word, p, words[i]))
		case "unplaceable":
			set(evenkeel.ConditionScheduled, metav1.ConditionFalse, evenkeel.ReasonUnschedulable)
			p.Status.Conditions[0].Message = "0/1 clusters are available: 1 full."
		case "on":
			i++
			cluster, index, pool := where(s.t, words[i])
			p.Status.Assignment = &evenkeel.Assignment{ClusterName: cluster, Index: index, Engines: []evenkeel.EngineAssignment{
				{Name: "main", Members: []evenkeel.MemberAssignment{{NodePoolName: pool}}},
			}}
			set(evenkeel.ConditionScheduled, metav1.ConditionTrue, evenkeel.ReasonScheduled)
		case "engine":
			i++
			p.Status.Assignment.Engines[0].Name = words[i]
		case "uncreated":
		case "loading", "ready", "terminating":
			s.addReplica(nameOf(p), p.Status.Assignment.ClusterName, p.Status.Assignment.Index, poolOf(p.Status.Assignment.Engines, "main", 0), word)
			// Of a replica that was deleted by us it still says what it said.
			if word == "terminating" && slices.Contains(words, "leaving") {
				s.markReady(set, "ready")
			} else {
				s.markReady(set, word)
			}
		case "long":
			s.Replicas[len(s.Replicas)-1].DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(-stepLinger)))
		case "gone":
			set(evenkeel.ConditionReady, metav1.ConditionTrue, evenkeel.ReasonReplicaReady)
		case "unmarked":
			p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c metav1.Condition) bool { return c.Type == evenkeel.ConditionReady })
		case "leaving":
			i++
			set(evenkeel.ConditionDisruptionTarget, metav1.ConditionTrue, words[i])
		case "settling":
			i++
			set(evenkeel.ConditionDisruptionTarget, metav1.ConditionUnknown, words[i])
		case "refused":
			set(evenkeel.ConditionReplicaRejected, metav1.ConditionTrue, evenkeel.ReasonRefused)
		case "taken":
			set(evenkeel.ConditionReplicaRejected, metav1.ConditionTrue, evenkeel.ReasonNameTaken)
		case "generation":
			i++
			n, err := strconv.Atoi(words[i])
			require.NoError(s.t, err)
			p.Generation = int64(n)
		case "moved":
			i++
			set(evenkeel.ConditionMoved, metav1.ConditionTrue, words[i])
		default:
			s.t.Fatalf("placement: what is %q?", word)
		}
	}
	s.Placements = append(s.Placements, p)
}

func (s *scene) markReady(set func(string, metav1.ConditionStatus, string), word string) {
	switch word {
	case "ready":
		set(evenkeel.ConditionReady, metav1.ConditionTrue, evenkeel.ReasonReplicaReady)
	case "loading":
		set(evenkeel.ConditionReady, metav1.ConditionFalse, evenkeel.ReasonReplicaNotReady)
	default:
		set(evenkeel.ConditionReady, metav1.ConditionFalse, evenkeel.ReasonReplicaTerminating)
	}
}

func (s *scene) newTestPlacement(numbers string) *evenkeel.ReplicaPlacement {
	first, attempt, _ := strings.Cut(numbers, "-")
	n, err := strconv.Atoi(first)
	require.NoError(s.t, err)
	m, err := strconv.Atoi(attempt)
	require.NoError(s.t, err)
	o := newState(s.Observation)
	p := o.newPlacement(&slot{number: int32(n)})
	p.Name, p.Spec.Attempt = "chat-"+numbers, int32(m)
	p.UID, p.ResourceVersion, p.Generation = types.UID("uid-of-"+p.Name), "1", 1
	return p
}

func nameOf(p *evenkeel.ReplicaPlacement) string {
	if p.Spec.Adopts != "" {
		return p.Spec.Adopts
	}
	return placement.ReplicaName("chat", p.Status.Assignment.ClusterName, p.Status.Assignment.Index)
}

func (s *scene) addReplica(name, cluster string, index int32, pool string, words ...string) *modelplane.ModelReplica {
	d := s.Deployment
	r := testReplica(d, name, cluster, index, pool)
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "loading":
		case "ready":
			r.Status.Conditions = []metav1.Condition{{Type: modelplane.ConditionReady, Status: metav1.ConditionTrue, Reason: "Available"}}
		case "terminating":
			r.DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(-time.Second)))
		case "foreign":
			r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Other", Name: "x", UID: "other", Controller: ptr.To(true)}}
		case "unlabelled":
			delete(r.Labels, modelplane.LabelDeployment)
		case "index":
			i++
			r.Labels[modelplane.LabelReplicaIndex] = words[i]
		case "poolless":
			r.Spec.Engines[0].Members[0].NodePoolName = ""
		case "unowned":
			r.OwnerReferences = nil
		default:
			s.t.Fatalf("replica: what is %q?", words[i])
		}
	}
	s.Replicas = append(s.Replicas, r)
	return r
}

func (s *scene) replica(words []string) {
	cluster, index, pool := where(s.t, words[2])
	s.addReplica(words[0], cluster, index, pool, words[3:]...)
}

func (s *scene) endpoint(place string, words ...string) {
	cluster, index, _ := where(s.t, place)
	name := placement.ReplicaName("chat", cluster, index)
	url, rewrite, _ := placement.EndpointURL(&modelplane.Gateway{Address: "192.0.2.1"}, s.Deployment.Namespace, name)
	r := testReplica(s.Deployment, name, cluster, index, "h")
	r.Annotations[modelplane.AnnotationCompositionResourceName] = fmt.Sprintf("endpoint-%s-%d", cluster, index)
	e := &modelplane.ModelEndpoint{
		ObjectMeta: r.ObjectMeta,
		Spec:       modelplane.ModelEndpointSpec{URL: url, RewritePath: rewrite},
	}
	if s.Traffic != nil {
		s.withBackend(e, words)
	}
	s.Endpoints = append(s.Endpoints, e)
}

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
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

func (s *scene) number(text string) int {
	n, err := strconv.Atoi(text)
	require.NoError(s.t, err)
	return n
}

func (s *scene) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(s.t, err)
	return d
}

// clock is a condition by which something is timed.
func (s *scene) clock(word string, p *evenkeel.ReplicaPlacement, age string) metav1.Condition {
	c := metav1.Condition{Status: metav1.ConditionTrue}
	switch word {
	case "withdrawing":
		c.Type, c.Status, c.Reason = evenkeel.ConditionTrafficWithdrawn, metav1.ConditionFalse, evenkeel.ReasonWithdrawing
	case "withdrawn":
		c.Type, c.Reason = evenkeel.ConditionTrafficWithdrawn, evenkeel.ReasonNoRoute
	case "seen":
		state := newState(s.Observation)
		c = state.seenCondition(&unit{placement: p}, &s.Clusters[0].Spec.Taints[0])
	}
	c.ObservedGeneration = 1
	c.LastTransitionTime = metav1.NewTime(now.Add(-s.duration(age)))
	return c
}

// service gives the hub a ModelService, and routes. It stands before the endpoints.
func (s *scene) service(words []string) {
	if s.Traffic == nil {
		s.Traffic = &Traffic{Backends: map[types.NamespacedName]bool{}}
	}
	service := testService("front-"+strconv.Itoa(len(s.Traffic.Services)), pairs(words[0]))
	if words[0] == "all" {
		service.Spec.Endpoints[0].Selector.MatchLabels = nil
	}
	if len(words) > 2 && words[1] == "asked" {
		at := now.Add(-s.duration(words[2]))
		service.Annotations = map[string]string{modelplane.AnnotationReconcileRequestedAt: at.Format(time.RFC3339Nano)}
	}
	s.Traffic.Services = append(s.Traffic.Services, service)
}

func (s *scene) route(place string) {
	cluster, index, _ := where(s.t, place)
	s.Traffic.Backends[types.NamespacedName{Namespace: s.Deployment.Namespace, Name: "backend-" + placement.ReplicaName("chat", cluster, index)}] = true
}

func (s *scene) withBackend(e *modelplane.ModelEndpoint, words []string) {
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "stripped":
			e.Labels = s.Traffic.unselected(e.Labels)
		case "unrouted":
			i++
			backend := types.NamespacedName{Namespace: e.Namespace, Name: "backend-" + e.Name}
			s.Traffic.Unrouted = map[types.NamespacedName]time.Time{backend: now.Add(-s.duration(words[i]))}
		default:
			e.Annotations[evenkeel.AnnotationTrafficWithdrawnAt] = stamp(now.Add(-s.duration(words[i])))
		}
	}
	e.Status.Routing = &modelplane.EndpointRouting{BackendName: "backend-" + e.Name}
	e.Status.Conditions = []metav1.Condition{{
		Type: modelplane.ConditionRoutingReady, Status: metav1.ConditionTrue, Reason: "BackendConfigured", LastTransitionTime: metav1.NewTime(now.Add(-time.Minute)),
	}}
}

func (s *scene) fleet(words []string) {
	switch words[0] {
	case "moves":
		s.Fleet.OtherMoves, s.Fleet.MaxMoves = s.number(words[1]), s.number(words[3])
	case "loading":
		s.Fleet.OtherLoading, s.Fleet.MaxLoading = map[string]int{words[1]: s.number(words[2])}, s.number(words[4])
	case "shows":
		s.Fleet.Shown = map[string]int{words[1]: s.number(words[3])}
	default:
		s.t.Fatalf("fleet: what is %q?", words[0])
	}
}

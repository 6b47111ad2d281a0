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

package drain

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

func cluster(effects ...modelplane.TaintEffect) *modelplane.InferenceCluster {
	c := &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Name: "east", Generation: 7}}
	for _, effect := range effects {
		c.Spec.Taints = append(c.Spec.Taints, modelplane.Taint{Key: "maintenance", Effect: effect})
	}
	return c
}

func replica(deployment string, index int32) *modelplane.ModelReplica {
	return &modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ml", Name: placement.ReplicaName(deployment, "east", index),
		Labels: map[string]string{modelplane.LabelDeployment: deployment},
	}}
}

func terminating(r *modelplane.ModelReplica) *modelplane.ModelReplica {
	r.DeletionTimestamp = ptr.To(metav1.Now())
	return r
}

type placementOption func(*evenkeel.ReplicaPlacement)

func placed(deployment string, index int32, options ...placementOption) *evenkeel.ReplicaPlacement {
	p := &evenkeel.ReplicaPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: deployment + "-0-1"}}
	p.Spec.DeploymentName = deployment
	p.Status.Assignment = &evenkeel.Assignment{ClusterName: "east", Index: index}
	for _, option := range options {
		option(p)
	}
	return p
}

func has(conditionType string) placementOption {
	return func(p *evenkeel.ReplicaPlacement) {
		p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue})
	}
}

func leaves(reason, waitingFor string) placementOption {
	return func(p *evenkeel.ReplicaPlacement) {
		has(evenkeel.ConditionDisruptionTarget)(p)
		p.Status.Move = &evenkeel.Move{Reason: reason, WaitingFor: waitingFor}
	}
}

func tolerates(seconds *int64) placementOption {
	return func(p *evenkeel.ReplicaPlacement) {
		p.Spec.Tolerations = []modelplane.Toleration{{Key: "maintenance", Operator: modelplane.TolerationOpExists, TolerationSeconds: seconds}}
	}
}

func TestObserve(t *testing.T) {
	one := func(reason, detail string) Report {
		return Report{Left: 1, Kinds: []Kind{{
			Reason: reason, Count: 1, Example: types.NamespacedName{Namespace: "ml", Name: placement.ReplicaName("chat", "east", 0)}, Detail: detail,
		}}}
	}
	forever := map[string][]modelplane.Toleration{"kept": {{Operator: modelplane.TolerationOpExists}}}
	for name, tc := range map[string]struct {
		replicas   []*modelplane.ModelReplica
		placements []*evenkeel.ReplicaPlacement
		want       Report
	}{
		"nothing is there": {},
		"a replica whose placement says why": {
			replicas:   []*modelplane.ModelReplica{replica("chat", 0)},
			placements: []*evenkeel.ReplicaPlacement{placed("chat", 0, leaves(evenkeel.LeavingBudget, "its turn"))},
			want:       one(evenkeel.LeavingBudget, "its turn"),
		},
		"a replica whose placement gives no reason": {
			replicas:   []*modelplane.ModelReplica{replica("chat", 0)},
			placements: []*evenkeel.ReplicaPlacement{placed("chat", 0, leaves("", "x"))},
			want:       one(evenkeel.LeavingMoving, "x"),
		},
		"a replica that must leave before anything is told of its move": {
			replicas:   []*modelplane.ModelReplica{replica("chat", 0)},
			placements: []*evenkeel.ReplicaPlacement{placed("chat", 0, has(evenkeel.ConditionDisruptionTarget))},
			want:       one(evenkeel.LeavingMoving, "its move to begin"),
		},
		"a replica that nobody has looked at since the taint": {
			replicas:   []*modelplane.ModelReplica{replica("chat", 0)},
			placements: []*evenkeel.ReplicaPlacement{placed("chat", 0)},
			want:       one(evenkeel.LeavingMoving, "its move to begin"),
		},
		"a replica that is being deleted, whatever its placement says": {
			replicas:   []*modelplane.ModelReplica{terminating(replica("chat", 0))},
			placements: []*evenkeel.ReplicaPlacement{placed("chat", 0, leaves(evenkeel.LeavingBudget, "its turn"))},
			want:       one(evenkeel.LeavingMoving, "its pods to end"),
		},
		"a replica that tolerates the taint": {
			replicas:   []*modelplane.ModelReplica{replica("chat", 0)},
			placements: []*evenkeel.ReplicaPlacement{placed("chat", 0, tolerates(nil))},
			want:       Report{Staying: 1},
		},
		"a replica that tolerates the taint for a time": {
			replicas:   []*modelplane.ModelReplica{replica("chat", 0)},
			placements: []*evenkeel.ReplicaPlacement{placed("chat", 0, tolerates(ptr.To[int64](300)))},
			want:       one(evenkeel.LeavingTolerating, "its tolerationSeconds to pass"),
		},
		"a replica without a placement": {
			replicas: []*modelplane.ModelReplica{replica("chat", 0)},
			want:     one(evenkeel.LeavingUnmanaged, "whoever keeps the replicas of ModelDeployment chat"),
		},
		"a replica without a placement that may stay": {
			replicas: []*modelplane.ModelReplica{replica("kept", 0)},
			want:     Report{Staying: 1},
		},
		"a placement whose replica is still to be made": {
			placements: []*evenkeel.ReplicaPlacement{placed("chat", 0)},
			want:       one(evenkeel.LeavingMoving, "another place"),
		},
		"a placement whose replica is gone": {
			placements: []*evenkeel.ReplicaPlacement{placed("chat", 0, has(evenkeel.ConditionReady), has(evenkeel.ConditionDisruptionTarget))},
		},
		"several kinds, what needs a person first": {
			replicas: []*modelplane.ModelReplica{replica("a", 0), replica("b", 0), replica("c", 0), replica("c", 1), replica("d", 0)},
			placements: []*evenkeel.ReplicaPlacement{
				placed("a", 0, leaves(evenkeel.LeavingMoving, "")),
				placed("b", 0, leaves(evenkeel.LeavingUnplaceable, "room")),
				placed("c", 0, leaves(evenkeel.LeavingBudget, "0")),
				placed("c", 1, leaves(evenkeel.LeavingBudget, "1")),
				placed("d", 0, tolerates(nil)),
			},
			want: Report{Left: 4, Staying: 1, Kinds: []Kind{
				{evenkeel.LeavingUnplaceable, 1, types.NamespacedName{Namespace: "ml", Name: placement.ReplicaName("b", "east", 0)}, "room"},
				{evenkeel.LeavingBudget, 2, types.NamespacedName{Namespace: "ml", Name: placement.ReplicaName("c", "east", 1)}, "1"}, // by name, c-81d1c before c-c0896
				{evenkeel.LeavingMoving, 1, types.NamespacedName{Namespace: "ml", Name: placement.ReplicaName("a", "east", 0)}, ""},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observation{
				Cluster: cluster(modelplane.TaintEffectNoExecute), Replicas: tc.replicas, Placements: tc.placements,
				Tolerations: func(key types.NamespacedName) ([]modelplane.Toleration, bool) {
					tolerations, found := forever[key.Name]
					return tolerations, found && key.Namespace == "ml"
				},
			}
			for range 10 {
				assert.Equal(t, tc.want, Observe(o))
				rand.Shuffle(len(o.Replicas), func(i, j int) { o.Replicas[i], o.Replicas[j] = o.Replicas[j], o.Replicas[i] })
				rand.Shuffle(len(o.Placements), func(i, j int) { o.Placements[i], o.Placements[j] = o.Placements[j], o.Placements[i] })
			}
		})
	}
}

func TestDraining(t *testing.T) {
	assert.False(t, Draining(cluster()))
	assert.False(t, Draining(cluster(modelplane.TaintEffectNoSchedule)))
	assert.True(t, Draining(cluster(modelplane.TaintEffectNoSchedule, modelplane.TaintEffectNoExecute)))
}

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

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func replica(deployment, cluster string, ready, ending bool) modelplane.ModelReplica {
	r := modelplane.ModelReplica{
		ObjectMeta: metav1.ObjectMeta{Name: deployment + "-" + cluster, Labels: map[string]string{modelplane.LabelDeployment: deployment}},
		Spec:       modelplane.ModelReplicaSpec{ClusterName: cluster},
	}
	if ready {
		r.Status.Conditions = []metav1.Condition{{Type: modelplane.ConditionReady, Status: metav1.ConditionTrue}}
	}
	if ending {
		r.DeletionTimestamp = ptr.To(metav1.Now())
	}
	return r
}

func placement(deployment, cluster string) evenkeel.ReplicaPlacement {
	p := evenkeel.ReplicaPlacement{Spec: evenkeel.ReplicaPlacementSpec{DeploymentName: deployment}}
	if cluster != "" {
		p.Status.Assignment = &evenkeel.Assignment{ClusterName: cluster}
	}
	return p
}

func chatDeployment(wanted, saysReady int32) modelplane.ModelDeployment {
	return modelplane.ModelDeployment{
		ObjectMeta: metav1.ObjectMeta{Name: chat},
		Spec:       modelplane.ModelDeploymentSpec{Replicas: wanted},
		Status: modelplane.ModelDeploymentStatus{
			Replicas:   &modelplane.ReplicaCounts{Ready: saysReady},
			Conditions: []metav1.Condition{{Type: modelplane.ConditionReplicasScheduled, Status: metav1.ConditionTrue}},
		},
	}
}

func TestFleetCounts(t *testing.T) {
	f := &fleet{
		deployments: []modelplane.ModelDeployment{chatDeployment(3, 1)},
		replicas: []modelplane.ModelReplica{
			replica(chat, clusterWest, true, false), replica(chat, clusterEast, true, true),
			replica(chat, clusterWest, false, false), replica(embed, clusterEast, true, false),
		},
		placements: []evenkeel.ReplicaPlacement{placement(chat, clusterWest), placement(chat, "")},
	}
	assert.Equal(t, "gpu-us-east:1 gpu-us-west:2", f.spread(chat))
	assert.Equal(t, "chat:1 embed:1", f.deploymentsOn(clusterEast))
	assert.Equal(t, 1, f.ready(chat), "one that ends does not serve")
	assert.Equal(t, 1, f.pending(chat))
	assert.Equal(t, "chat 1/3 ready, 1 loading, 1 ending, 1 pending", f.summary())
}

func TestFleetComplete(t *testing.T) {
	serving := func(n int) (all []modelplane.ModelReplica) {
		for range n {
			all = append(all, replica(chat, clusterEast, true, false))
		}
		return all
	}
	short := chatDeployment(2, 2)
	short.Status.Conditions[0].Status = metav1.ConditionFalse
	for name, tc := range map[string]struct {
		fleet fleet
		want  bool
	}{
		"no deployment":                         {fleet{}, false},
		"all serve":                             {fleet{deployments: []modelplane.ModelDeployment{chatDeployment(2, 2)}, replicas: serving(2)}, true},
		"one is missing":                        {fleet{deployments: []modelplane.ModelDeployment{chatDeployment(2, 1)}, replicas: serving(1)}, false},
		"one is too many":                       {fleet{deployments: []modelplane.ModelDeployment{chatDeployment(2, 2)}, replicas: serving(3)}, false},
		"the deployment does not say so yet":    {fleet{deployments: []modelplane.ModelDeployment{chatDeployment(2, 1)}, replicas: serving(2)}, false},
		"the deployment still says it is short": {fleet{deployments: []modelplane.ModelDeployment{short}, replicas: serving(2)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, tc.fleet.complete())
		})
	}
}

func TestPlacementsMatch(t *testing.T) {
	east := replica(chat, clusterEast, true, false)
	for name, tc := range map[string]struct {
		fleet fleet
		want  string
	}{
		"one each":            {fleet{replicas: []modelplane.ModelReplica{east}, placements: []evenkeel.ReplicaPlacement{placement(chat, clusterEast)}}, ""},
		"another cluster":     {fleet{replicas: []modelplane.ModelReplica{east}, placements: []evenkeel.ReplicaPlacement{placement(chat, clusterWest)}}, "placements more than replicas"},
		"no placement":        {fleet{replicas: []modelplane.ModelReplica{east}}, "chat on gpu-us-east: -1"},
		"no replica":          {fleet{placements: []evenkeel.ReplicaPlacement{placement(chat, clusterEast)}}, "chat on gpu-us-east: +1"},
		"one without cluster": {fleet{placements: []evenkeel.ReplicaPlacement{placement(chat, "")}}, "has no cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.fleet.placementsMatch()
			if tc.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

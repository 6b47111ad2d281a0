//go:build integration

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

package scheduler

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	rules "github.com/evenkeel-io/evenkeel/internal/placement"
)

// oddKey and oddValue cannot be a Node's taint: the API server would refuse both.
const (
	oddKey   = "out of order: rack 7 / Zürich"
	oddValue = " since 12:30, see https://example.com/?q=1&r=2 "
)

// Each case leaves a placement pending, changes one thing, and expects the very next try to place it.
func TestAChangeWakesAPendingPlacement(t *testing.T) {
	h := newHub(t, controlplane.Options{})
	sched := h.startScheduler("--v=4")
	sched.waitSaid("Handlers synced", 1)

	cluster1 := func(test string, change func(*modelplane.InferenceCluster)) *modelplane.InferenceCluster {
		c := of(cluster(test, pool("h100", 1)), test)
		change(c)
		return c
	}
	placement1 := func(test string, change func(*evenkeel.ReplicaPlacement)) *evenkeel.ReplicaPlacement {
		p := on(placement(test, 0), test)
		change(p)
		return p
	}
	unchanged := func(*modelplane.InferenceCluster) {}
	usual := func(*evenkeel.ReplicaPlacement) {}
	editCluster := func(test string, change func(*modelplane.InferenceCluster)) {
		edit(h, client.ObjectKey{Name: test}, &modelplane.InferenceCluster{}, change)
	}
	editClusterStatus := func(test string, change func(*modelplane.InferenceCluster)) {
		editStatus(h, client.ObjectKey{Name: test}, &modelplane.InferenceCluster{}, change)
	}
	editPlacement := func(test string, change func(*evenkeel.ReplicaPlacement)) {
		edit(h, client.ObjectKey{Namespace: namespace, Name: test + "-0-1"}, &evenkeel.ReplicaPlacement{}, change)
	}
	occupied := func(test string) { // by another placement, with its replica
		h.create(on(placement(test+"-other", 0), test))
		p := h.waitAssigned(test + "-other-0-1")
		h.create(replicaFor(p))
	}

	tests := map[string]struct {
		cluster   func(*modelplane.InferenceCluster)
		placement func(*evenkeel.ReplicaPlacement)
		before    func(test string)
		message   string
		change    func(test string)
		// changes that change makes, of which each may be tried; one when absent.
		changes int
	}{
		"added-toleration": {
			cluster: func(c *modelplane.InferenceCluster) {
				c.Spec.Taints = []modelplane.Taint{{Key: oddKey, Value: oddValue, Effect: modelplane.TaintEffectNoSchedule}}
			},
			placement: func(p *evenkeel.ReplicaPlacement) {
				p.Spec.Tolerations = []modelplane.Toleration{{Key: oddKey, Operator: modelplane.TolerationOpEqual, Value: strings.TrimSpace(oddValue)}}
			},
			message: "1 cluster(s) had untolerated taint(s)",
			change: func(test string) {
				editPlacement(test, func(p *evenkeel.ReplicaPlacement) {
					p.Spec.Tolerations = append(p.Spec.Tolerations, modelplane.Toleration{Key: oddKey, Operator: modelplane.TolerationOpEqual, Value: oddValue})
				})
			},
		},
		// Natively only the number of tolerations counts as a change.
		"edited-toleration": {
			cluster: func(c *modelplane.InferenceCluster) {
				c.Spec.Taints = []modelplane.Taint{{Key: "maintenance", Value: "tonight", Effect: modelplane.TaintEffectNoExecute}}
			},
			placement: func(p *evenkeel.ReplicaPlacement) {
				p.Spec.Tolerations = []modelplane.Toleration{{Key: "maintenance", Operator: modelplane.TolerationOpEqual, Value: "tomorrow"}}
			},
			message: "1 cluster(s) had untolerated taint(s)",
			change: func(test string) {
				editPlacement(test, func(p *evenkeel.ReplicaPlacement) { p.Spec.Tolerations[0].Value = "tonight" })
			},
		},
		"edited-selector": {
			placement: func(p *evenkeel.ReplicaPlacement) { p.Spec.ClusterSelector.MatchLabels["cluster"] = "another" },
			message:   "didn't match the cluster selector or are excluded",
			change: func(test string) {
				editPlacement(test, func(p *evenkeel.ReplicaPlacement) { p.Spec.ClusterSelector.MatchLabels["cluster"] = test })
			},
		},
		"edited-exclusion": {
			placement: func(p *evenkeel.ReplicaPlacement) { p.Spec.ExcludedClusters = []string{"edited-exclusion"} },
			message:   "didn't match the cluster selector or are excluded",
			change: func(test string) {
				editPlacement(test, func(p *evenkeel.ReplicaPlacement) { p.Spec.ExcludedClusters = []string{"another"} })
			},
		},
		"edited-device-selector": {
			placement: func(p *evenkeel.ReplicaPlacement) {
				p.Spec.Engines[0].Members[0].Devices[0].Selectors[0].CEL = `device.capacity["gpu.example.com"].memory.compareTo(quantity("141Gi")) >= 0`
			},
			message: "1 cluster(s) had no pool with the devices that an engine requests",
			change: func(test string) {
				editPlacement(test, func(p *evenkeel.ReplicaPlacement) {
					p.Spec.Engines[0].Members[0].Devices[0].Selectors[0].CEL = `device.capacity["gpu.example.com"].memory.compareTo(quantity("90Gi")) >= 0`
				})
			},
		},
		"corrected-device-selector": {
			placement: func(p *evenkeel.ReplicaPlacement) {
				p.Spec.Engines[0].Members[0].Devices[0].Selectors[0].CEL = `device.nonsense(`
			},
			message: "invalid device selector",
			change: func(test string) {
				editPlacement(test, func(p *evenkeel.ReplicaPlacement) { p.Spec.Engines[0].Members[0].Devices[0].Selectors[0].CEL = "true" })
			},
		},
		"edited-copies": {
			placement: func(p *evenkeel.ReplicaPlacement) { p.Spec.Engines[0].Copies = 3 },
			message:   "1 cluster(s) had only pools that are too small for an engine",
			change: func(test string) {
				editPlacement(test, func(p *evenkeel.ReplicaPlacement) { p.Spec.Engines[0].Copies = 1 })
			},
		},
		"grown-pool": {
			placement: func(p *evenkeel.ReplicaPlacement) { p.Spec.Engines[0].Copies = 3 },
			message:   "1 cluster(s) had only pools that are too small for an engine",
			change: func(test string) {
				editClusterStatus(test, func(c *modelplane.InferenceCluster) { c.Status.GPUPools[0].Nodes = 3 })
			},
		},
		"better-devices": {
			placement: func(p *evenkeel.ReplicaPlacement) {
				p.Spec.Engines[0].Members[0].Devices[0].Selectors[0].CEL = `device.capacity["gpu.example.com"].memory.compareTo(quantity("141Gi")) >= 0`
			},
			message: "1 cluster(s) had no pool with the devices that an engine requests",
			change: func(test string) {
				editClusterStatus(test, func(c *modelplane.InferenceCluster) {
					c.Status.GPUPools[0].Devices[0].Capacity["memory"] = modelplane.DeviceCapacity{Value: "192Gi"}
				})
			},
		},
		"lifted-taint": {
			cluster: func(c *modelplane.InferenceCluster) {
				c.Spec.Taints = []modelplane.Taint{{Key: oddKey, Value: oddValue, Effect: modelplane.TaintEffectNoSchedule}}
			},
			message: "1 cluster(s) had untolerated taint(s)",
			change: func(test string) {
				editCluster(test, func(c *modelplane.InferenceCluster) { c.Spec.Taints = nil })
			},
		},
		"labelled-cluster": {
			placement: func(p *evenkeel.ReplicaPlacement) { p.Spec.ClusterSelector.MatchLabels["region"] = "us" },
			message:   "didn't match the cluster selector or are excluded",
			change: func(test string) {
				editCluster(test, func(c *modelplane.InferenceCluster) { c.Labels["region"] = "us" })
			},
		},
		"ready-cluster": {
			cluster: func(c *modelplane.InferenceCluster) { c.Status.Conditions[0].Status = metav1.ConditionFalse },
			message: "1 cluster(s) were not ready",
			change: func(test string) {
				editClusterStatus(test, func(c *modelplane.InferenceCluster) { c.Status.Conditions[0].Status = metav1.ConditionTrue })
			},
		},
		"gateway": {
			cluster: func(c *modelplane.InferenceCluster) { c.Status.Gateway = nil },
			message: "1 cluster(s) had no gateway address or hostname",
			change: func(test string) {
				editClusterStatus(test, func(c *modelplane.InferenceCluster) {
					c.Status.Gateway = &modelplane.Gateway{Hostname: "east.example.com"}
				})
			},
		},
		"first-status": {
			cluster: func(c *modelplane.InferenceCluster) { c.Status = modelplane.InferenceClusterStatus{} },
			message: "1 cluster(s) were not ready",
			change: func(test string) {
				editClusterStatus(test, func(c *modelplane.InferenceCluster) { c.Status = cluster(test, pool("h100", 1)).Status })
			},
		},
		"new-cluster": {
			cluster: func(c *modelplane.InferenceCluster) { c.Labels["test"] = "nobody" },
			message: "didn't match the cluster selector or are excluded",
			change:  func(test string) { h.create(of(cluster(test+"-2", pool("h100", 1)), test)) },
			changes: 2, // created, and then its status
		},
		"recreated-cluster": {
			cluster: func(c *modelplane.InferenceCluster) { c.Status.GPUPools[0].Devices = nil },
			message: "1 cluster(s) had no pool with the devices that an engine requests",
			change: func(test string) {
				require.NoError(t, h.Delete(t.Context(), of(cluster(test), test)))
				h.create(of(cluster(test, pool("h100", 1)), test))
			},
			changes: 3, // deleted, created, and then its status
		},
		"other-placement-over": {
			before: func(test string) {
				h.create(on(placement(test+"-other", 0), test))
				h.waitAssigned(test + "-other-0-1")
			},
			message: "1 cluster(s) had too few free nodes in the pools that match",
			change: func(test string) {
				editStatus(h, client.ObjectKey{Namespace: namespace, Name: test + "-other-0-1"}, &evenkeel.ReplicaPlacement{}, func(p *evenkeel.ReplicaPlacement) {
					meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{Type: evenkeel.ConditionMoved, Status: metav1.ConditionTrue, Reason: "Moved"})
				})
			},
		},
		"other-placement-deleted": {
			before: func(test string) {
				h.create(on(placement(test+"-other", 0), test))
				h.waitAssigned(test + "-other-0-1")
			},
			message: "1 cluster(s) had too few free nodes in the pools that match",
			change: func(test string) {
				require.NoError(t, h.Delete(t.Context(), placement(test+"-other", 0)))
			},
		},
		"other-replica-gone": {
			before: func(test string) {
				occupied(test)
				// Without its placement it still costs what it is stamped with.
				require.NoError(t, h.Delete(t.Context(), placement(test+"-other", 0)))
				// A deletion that is seen later would be a change of its own.
				sched.waitSaid(fmt.Sprintf(`"Delete event for scheduled pod" pod="%s/%s-other-0-1"`, namespace, test), 1)
			},
			message: "1 cluster(s) had too few free nodes in the pools that match",
			change: func(test string) {
				require.NoError(t, h.DeleteAllOf(t.Context(), &modelplane.ModelReplica{}, client.InNamespace(namespace),
					client.MatchingLabels{modelplane.LabelDeployment: test + "-other"}))
			},
		},
	}
	for test, tc := range tests {
		t.Run(test, func(t *testing.T) {
			if tc.cluster == nil {
				tc.cluster = unchanged
			}
			if tc.placement == nil {
				tc.placement = usual
			}
			c := cluster1(test, tc.cluster)
			hasStatus := len(c.Status.GPUPools) > 0
			h.create(c)
			// A placement that is tried before the status is known fails for another reason, which is then not told anew.
			sched.waitClusterSeen(test, hasStatus)
			t.Cleanup(func() { // the next case's messages count its own clusters only
				require.NoError(t, h.DeleteAllOf(context.Background(), &modelplane.InferenceCluster{}))
			})
			if tc.before != nil {
				tc.before(test)
			}
			h.create(placement1(test, tc.placement))
			name := test + "-0-1"
			h.waitUnschedulableSaying(name, tc.message)
			tries := sched.attempts(name)

			tc.change(test)

			h.waitAssigned(name)
			tried := sched.attempts(name) - tries
			assert.GreaterOrEqual(t, tried, 1)
			assert.LessOrEqual(t, tried, max(1, tc.changes), "the next try must place it")
		})
	}
}

// replicaFor is the ModelReplica that a placement's controller makes.
func replicaFor(p *evenkeel.ReplicaPlacement) *modelplane.ModelReplica {
	a := p.Status.Assignment
	replica := &modelplane.ModelReplica{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: rules.ReplicaName(p.Spec.DeploymentName, a.ClusterName, a.Index),
			Labels: map[string]string{
				modelplane.LabelDeployment: p.Spec.DeploymentName, modelplane.LabelCluster: a.ClusterName, modelplane.LabelReplicaIndex: fmt.Sprint(a.Index),
			},
		},
		Spec: modelplane.ModelReplicaSpec{ClusterName: a.ClusterName},
	}
	for i, engine := range a.Engines {
		copies := p.Spec.Engines[i].Copies
		replica.Spec.Engines = append(replica.Spec.Engines, modelplane.ReplicaEngine{Name: engine.Name, Copies: &copies, Members: []modelplane.ReplicaMember{{
			Role: modelplane.MemberRoleStandalone, NodePoolName: engine.Members[0].NodePoolName,
			DeviceRequests: []modelplane.ReplicaDeviceRequest{{Name: "gpu", DeviceClassName: "gpu.example.com"}},
		}}})
	}
	return replica
}

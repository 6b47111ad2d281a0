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

package clusterready

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
)

type option func(*modelplane.InferenceCluster)

// cluster is ready and has a gateway address, unless an option says otherwise.
func cluster(options ...option) *modelplane.InferenceCluster {
	c := &modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu-us-east"},
		Status: modelplane.InferenceClusterStatus{
			Conditions: []metav1.Condition{{Type: modelplane.ConditionReady, Status: metav1.ConditionTrue}},
			Gateway:    &modelplane.Gateway{Address: "203.0.113.10"},
		},
	}
	for _, o := range options {
		o(c)
	}
	return c
}

func ready(status metav1.ConditionStatus) option {
	return func(c *modelplane.InferenceCluster) { c.Status.Conditions[0].Status = status }
}

func noConditions(c *modelplane.InferenceCluster) { c.Status.Conditions = nil }
func noGateway(c *modelplane.InferenceCluster)    { c.Status.Gateway = nil }
func emptyGateway(c *modelplane.InferenceCluster) { c.Status.Gateway = &modelplane.Gateway{} }
func hostnameOnly(c *modelplane.InferenceCluster) {
	c.Status.Gateway = &modelplane.Gateway{Hostname: "east.example"}
}
func deleting(c *modelplane.InferenceCluster) { c.DeletionTimestamp = &metav1.Time{} }
func noStatus(c *modelplane.InferenceCluster) { c.Status = modelplane.InferenceClusterStatus{} }
func longName(n int) option {
	return func(c *modelplane.InferenceCluster) { c.Name = strings.Repeat("a", n) }
}
func condition(kind string) option {
	return func(c *modelplane.InferenceCluster) {
		c.Status.Conditions = []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue}}
	}
}

func TestFilter(t *testing.T) {
	tests := map[string]struct {
		cluster *modelplane.InferenceCluster
		want    string
	}{
		"ready, with an address":                     {cluster: cluster()},
		"ready, with a hostname":                     {cluster: cluster(hostnameOnly)},
		"not ready":                                  {cluster: cluster(ready(metav1.ConditionFalse)), want: ErrReasonNotReady},
		"readiness unknown":                          {cluster: cluster(ready(metav1.ConditionUnknown)), want: ErrReasonNotReady},
		"no conditions":                              {cluster: cluster(noConditions), want: ErrReasonNotReady},
		"only the running condition of its backend":  {cluster: cluster(condition("ClusterReady")), want: ErrReasonNotReady},
		"no status":                                  {cluster: cluster(noStatus), want: ErrReasonNotReady},
		"no gateway":                                 {cluster: cluster(noGateway), want: ErrReasonNotRoutable},
		"a gateway without address or hostname":      {cluster: cluster(emptyGateway), want: ErrReasonNotRoutable},
		"neither ready nor routable":                 {cluster: cluster(noGateway, ready(metav1.ConditionFalse)), want: ErrReasonNotReady},
		"being deleted, and ready":                   {cluster: cluster(deleting), want: ErrReasonDeleting},
		"a name as long as a label value":            {cluster: cluster(longName(63))},
		"a name one character longer":                {cluster: cluster(longName(64)), want: ErrReasonNameTooLong},
		"the longest name, not ready, being deleted": {cluster: cluster(longName(253), noStatus, deleting), want: ErrReasonNameTooLong},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			nodeInfo := framework.NewNodeInfo()
			nodeInfo.SetNode(virtual.NodeFor(tc.cluster))
			got := newPlugin(t).Filter(t.Context(), framework.NewCycleState(), &v1.Pod{}, nodeInfo)
			if tc.want == "" {
				assert.True(t, got.IsSuccess(), got.Message())
				return
			}
			assert.Equal(t, fwk.UnschedulableAndUnresolvable, got.Code())
			assert.Equal(t, []string{tc.want}, got.Reasons())
		})
	}
}

func TestIsSchedulableAfterNodeChange(t *testing.T) {
	tests := map[string]struct {
		old, new any
		want     fwk.QueueingHint
		wantErr  bool
	}{
		"a cluster that can take replicas came":      {new: virtual.NodeFor(cluster()), want: fwk.Queue},
		"a cluster that is not ready came":           {new: virtual.NodeFor(cluster(ready(metav1.ConditionFalse))), want: fwk.QueueSkip},
		"became ready":                               {old: virtual.NodeFor(cluster(ready(metav1.ConditionFalse))), new: virtual.NodeFor(cluster()), want: fwk.Queue},
		"got an address":                             {old: virtual.NodeFor(cluster(noGateway)), new: virtual.NodeFor(cluster()), want: fwk.Queue},
		"became ready, but has no address":           {old: virtual.NodeFor(cluster(noStatus)), new: virtual.NodeFor(cluster(noGateway)), want: fwk.QueueSkip},
		"stopped being ready":                        {old: virtual.NodeFor(cluster()), new: virtual.NodeFor(cluster(ready(metav1.ConditionFalse))), want: fwk.QueueSkip},
		"became ready while it is being deleted":     {old: virtual.NodeFor(cluster(noStatus, deleting)), new: virtual.NodeFor(cluster(deleting)), want: fwk.QueueSkip},
		"could take replicas before, so nothing new": {old: virtual.NodeFor(cluster()), new: virtual.NodeFor(cluster(hostnameOnly)), want: fwk.QueueSkip},
		"not a node":                                 {new: &v1.Pod{}, want: fwk.Queue, wantErr: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			logger, _ := ktesting.NewTestContext(t)
			got, err := newPlugin(t).isSchedulableAfterNodeChange(logger, &v1.Pod{}, tc.old, tc.new)
			assert.Equal(t, tc.wantErr, err != nil, "error %v", err)
			assert.Equal(t, tc.want, got)
		})
	}
}

// A condition that the hint watches must be one that the scheduler's own event handler notices.
func TestEventsCoverConditionChanges(t *testing.T) {
	events, err := newPlugin(t).EventsToRegister(t.Context())
	require.NoError(t, err)
	for _, change := range framework.NodeSchedulingPropertiesChange(virtual.NodeFor(cluster()), virtual.NodeFor(cluster(noGateway))) {
		assert.True(t, framework.MatchClusterEvents(events[0].Event, change), "event %v is not registered", change)
	}
}

func newPlugin(t *testing.T) *ClusterReady {
	t.Helper()
	pl, err := New(t.Context(), nil, nil)
	require.NoError(t, err)
	return pl.(*ClusterReady)
}

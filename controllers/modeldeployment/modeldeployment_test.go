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

package modeldeployment

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

func deployment(change func(*modelplane.ModelDeployment)) *modelplane.ModelDeployment {
	d := &modelplane.ModelDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "chat", UID: "d", ResourceVersion: "1"}}
	if change != nil {
		change(d)
	}
	return d
}

func TestActs(t *testing.T) {
	r := &Reconciler{Options: Options{SchedulerNames: []string{"evenkeel", "evenkeel-capacity"}, OwnCompositions: []string{"ours"}}}
	field := func(name string) func(*modelplane.ModelDeployment) {
		return func(d *modelplane.ModelDeployment) { d.Spec.Template.Spec.SchedulerName = name }
	}
	composed := func(name string) func(*modelplane.ModelDeployment) {
		return func(d *modelplane.ModelDeployment) {
			field("evenkeel")(d)
			d.Spec.Crossplane = &modelplane.CrossplaneSpec{CompositionRef: &modelplane.NameReference{Name: name}}
		}
	}
	annotated := func(value, fieldValue string) func(*modelplane.ModelDeployment) {
		return func(d *modelplane.ModelDeployment) {
			d.Annotations = map[string]string{evenkeel.AnnotationSchedulerName: value}
			field(fieldValue)(d)
		}
	}
	for name, tc := range map[string]struct {
		change func(*modelplane.ModelDeployment)
		want   bool
	}{
		"no scheduler":          {nil, false},
		"ours":                  {field("evenkeel"), true},
		"another of ours":       {field("evenkeel-capacity"), true},
		"somebody else's":       {field("other"), false},
		"by annotation":         {annotated("evenkeel", ""), true},
		"the field wins":        {annotated("evenkeel", "other"), false},
		"the field wins for us": {annotated("other", "evenkeel"), true},
		"our composition":       {composed("ours"), true},
		"another composition":   {composed("theirs"), false},
		"Crossplane, undecided": {func(d *modelplane.ModelDeployment) {
			field("evenkeel")(d)
			d.Spec.Crossplane = &modelplane.CrossplaneSpec{}
		}, true},
		"composition without name": {composed(""), true},
	} {
		assert.Equal(t, tc.want, r.acts(deployment(tc.change)), name)
	}
}

func TestRefused(t *testing.T) {
	resource := modelplane.Resource("modelreplicas")
	terminating := apierrors.NewForbidden(resource, "x", errors.New("the namespace goes"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":               {nil, false},
		"invalid":               {apierrors.NewInvalid(modelplane.GroupVersion.WithKind("ModelReplica").GroupKind(), "x", nil), true},
		"forbidden":             {apierrors.NewForbidden(resource, "x", errors.New("quota")), true},
		"namespace terminating": {terminating, false},
		"conflict":              {apierrors.NewConflict(resource, "x", errors.New("changed")), false},
		"busy":                  {apierrors.NewTooManyRequests("later", 1), false},
		"broken":                {apierrors.NewInternalError(errors.New("x")), false},
		"network":               {errors.New("connection refused"), false},
	} {
		assert.Equal(t, tc.want, refused(tc.err), name)
	}
}

func TestStale(t *testing.T) {
	resource := modelplane.Resource("modelreplicas")
	assert.ErrorIs(t, stale(apierrors.NewConflict(resource, "x", errors.New("changed"))), errStale)
	assert.ErrorIs(t, stale(apierrors.NewAlreadyExists(resource, "x")), errStale)
	assert.ErrorIs(t, stale(apierrors.NewNotFound(resource, "x")), errStale)
	assert.NotErrorIs(t, stale(apierrors.NewInternalError(errors.New("x"))), errStale)
}

func TestMergedLabels(t *testing.T) {
	observed := &modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"old": "1", "both": "1", "mine": "1"},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: FieldManager, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:labels":{".":{},"f:old":{},"f:both":{},"f:gone":{}}}}`)}},
			{Manager: "kubectl", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:labels":{"f:mine":{}}}}`)}},
			{Manager: FieldManager, FieldsV1: &metav1.FieldsV1{Raw: []byte(`no JSON`)}},
			{Manager: FieldManager},
		},
	}}
	want := &modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"new": "1", "both": "2"}}}
	assert.Equal(t, map[string]any{"old": nil, "new": "1", "both": "2"}, mergedLabels(observed, want))
}

func TestMergedOwners(t *testing.T) {
	ours := metav1.OwnerReference{UID: "d", Name: "chat"}
	other := metav1.OwnerReference{UID: "o", Name: "other"}
	want := &modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{ours}}}
	observed := &modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{other, ours}}}
	assert.Equal(t, []metav1.OwnerReference{ours, other}, mergedOwners(observed, want))
}

func placementWith(name, uid, version string) *evenkeel.ReplicaPlacement {
	return &evenkeel.ReplicaPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(uid), ResourceVersion: version}}
}

func TestOwnWritesAreWaitedFor(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := deployment(nil)
	see := func(after time.Duration, placements ...*evenkeel.ReplicaPlacement) *replicas.Observation {
		return &replicas.Observation{Deployment: d, Placements: placements, Now: start.Add(after)}
	}
	var w ownWrites
	assert.True(t, w.shown(see(0)), "nothing was written")

	w.wrote(d, placementWith("chat-0-1", "p", ""), "10", start)
	assert.False(t, w.shown(see(0)), "it is not there yet")
	assert.False(t, w.shown(see(0, placementWith("chat-0-1", "p", "9"))), "an older one is there")
	assert.True(t, w.shown(see(0, placementWith("chat-0-1", "p", "10"))))
	assert.True(t, w.shown(see(0)), "once is enough")

	w.wrote(d, placementWith("chat-0-1", "p", ""), "10", start)
	assert.True(t, w.shown(see(0, placementWith("chat-0-1", "p", "100"))), "a newer one is there")

	w.deleted(d, placementWith("chat-0-1", "p", "10"), start)
	assert.False(t, w.shown(see(0, placementWith("chat-0-1", "p", "10"))), "it is still there")
	going := placementWith("chat-0-1", "p", "11")
	going.DeletionTimestamp = &metav1.Time{Time: start}
	assert.True(t, w.shown(see(0, going)))
	w.deleted(d, placementWith("chat-0-1", "p", "10"), start)
	assert.True(t, w.shown(see(0, placementWith("chat-0-1", "q", "12"))), "another one has its name")

	w.wrote(d, placementWith("chat-0-1", "p", ""), "20", start)
	assert.False(t, w.shown(see(catchUpPatience-1)))
	assert.True(t, w.shown(see(catchUpPatience)), "somebody else may have deleted it")
}

func TestClusterChanged(t *testing.T) {
	passes := clusterChanged().Update
	base := func() *modelplane.InferenceCluster {
		return &modelplane.InferenceCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "east", UID: "e", Labels: map[string]string{"tier": "a"}},
			Status: modelplane.InferenceClusterStatus{
				Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Message: "1"}, {Type: "Synced", Status: "True"}},
				Gateway:    &modelplane.Gateway{Address: "192.0.2.1"},
				GPUPools:   []modelplane.GPUPool{{Name: "h", Nodes: 1}},
			},
		}
	}
	for name, tc := range map[string]struct {
		change func(*modelplane.InferenceCluster)
		want   bool
	}{
		"nothing":           {func(*modelplane.InferenceCluster) {}, false},
		"a heartbeat":       {func(c *modelplane.InferenceCluster) { c.Status.Conditions[0].Message, c.ResourceVersion = "2", "9" }, false},
		"another condition": {func(c *modelplane.InferenceCluster) { c.Status.Conditions[1].Status = "False" }, false},
		"another object":    {func(c *modelplane.InferenceCluster) { c.UID = "f" }, true},
		"Ready":             {func(c *modelplane.InferenceCluster) { c.Status.Conditions[0].Status = "False" }, true},
		"labels":            {func(c *modelplane.InferenceCluster) { c.Labels = nil }, true},
		"taints":            {func(c *modelplane.InferenceCluster) { c.Spec.Taints = []modelplane.Taint{{Key: "k"}} }, true},
		"gateway":           {func(c *modelplane.InferenceCluster) { c.Status.Gateway = nil }, true},
		"pools":             {func(c *modelplane.InferenceCluster) { c.Status.GPUPools[0].Nodes = 2 }, true},
	} {
		after := base()
		tc.change(after)
		assert.Equal(t, tc.want, passes(event.UpdateEvent{ObjectOld: base(), ObjectNew: after}), name)
	}
}

func TestIndexes(t *testing.T) {
	p := placementWith("chat-0-1", "p", "1")
	p.Spec.DeploymentName = "chat"
	assert.Equal(t, []string{"chat"}, placementDeployments(p))
	p.Spec.DeploymentName = "other"
	assert.Equal(t, []string{"other", "chat"}, placementDeployments(p), "it takes a name of chat's")
	p.Name = "by-hand"
	assert.Equal(t, []string{"other"}, placementDeployments(p))

	assert.Empty(t, placementCluster(p))
	p.Status.Assignment = &evenkeel.Assignment{ClusterName: "east"}
	assert.Equal(t, []string{"east"}, placementCluster(p))
	p.Status.Conditions = []metav1.Condition{{Type: evenkeel.ConditionMoved, Status: metav1.ConditionTrue}}
	assert.Empty(t, placementCluster(p), "it is over")

	controller := true
	r := &modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{modelplane.LabelDeployment: "chat"}}}
	assert.Equal(t, []string{"chat"}, labelledDeployment(r))
	r.OwnerReferences = []metav1.OwnerReference{{Kind: "ModelDeployment", Name: "chat", Controller: &controller}}
	assert.Equal(t, []string{"chat"}, labelledDeployment(r))
	r.Labels = nil
	assert.Equal(t, []string{"chat"}, labelledDeployment(r), "its owner is found without the label")
}

func TestPoolsArePreparedOnceForEachChange(t *testing.T) {
	var cache poolCache
	c := &modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Name: "east", ResourceVersion: "1"}}
	c.Status.GPUPools = []modelplane.GPUPool{{Name: "h", Nodes: 1}}
	first := cache.of(c)
	heartbeat := c.DeepCopy()
	heartbeat.ResourceVersion = "2"
	assert.Same(t, first, cache.of(heartbeat))
	changed := heartbeat.DeepCopy()
	changed.ResourceVersion, changed.Status.GPUPools[0].Nodes = "3", 2
	assert.NotSame(t, first, cache.of(changed))
}

func TestGauges(t *testing.T) {
	g := &gauges{
		moves:        prometheus.NewCounterVec(prometheus.CounterOpts{Name: "moves"}, []string{"result"}),
		byDeployment: map[types.NamespacedName]figures{},
	}
	key := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	g.set(key("a", "x"), &replicas.Result{Leaving: map[string]int{"east": 2}, Unplaceable: 1})
	g.set(key("b", "y"), &replicas.Result{Leaving: map[string]int{"east": 1, "west": 1}})
	g.set(key("b", "z"), &replicas.Result{})
	require.NoError(t, testutil.CollectAndCompare(g, strings.NewReader(`
# HELP evenkeel_replicas_leaving Replicas that must leave a cluster and are still there.
# TYPE evenkeel_replicas_leaving gauge
evenkeel_replicas_leaving{cluster="east"} 3
evenkeel_replicas_leaving{cluster="west"} 1
# HELP evenkeel_replicas_unplaceable Wanted replicas that have no destination.
# TYPE evenkeel_replicas_unplaceable gauge
evenkeel_replicas_unplaceable{namespace="a"} 1
evenkeel_replicas_unplaceable{namespace="b"} 0
`)))
	g.forget(key("b", "y"))
	g.set(key("a", "x"), &replicas.Result{})
	assert.Zero(t, testutil.CollectAndCount(g))
}

func TestMovesAreCounted(t *testing.T) {
	g := &gauges{moves: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "moves"}, []string{"cause", "result"})}
	p := placementWith("chat-0-1", "p", "1")
	for _, e := range []replicas.Event{
		{Reason: replicas.EventMoved, Cause: evenkeel.CauseTaint},
		{Reason: replicas.EventUnplaceable, Cause: evenkeel.CausePool}, {Reason: replicas.EventUnplaceable, Cause: evenkeel.CausePool, Placement: p},
		{Reason: replicas.EventRolledBack, Cause: evenkeel.CauseNotServing},
		{Reason: replicas.EventLeaving, Cause: evenkeel.CauseTaint},
	} {
		g.observe(e)
	}
	assert.InDelta(t, 1, testutil.ToFloat64(g.moves.WithLabelValues(evenkeel.CauseTaint, "moved")), 0)
	assert.InDelta(t, 1, testutil.ToFloat64(g.moves.WithLabelValues(evenkeel.CausePool, "unplaceable")), 0)
	assert.InDelta(t, 1, testutil.ToFloat64(g.moves.WithLabelValues(evenkeel.CauseNotServing, "rolled_back")), 0)
	assert.Equal(t, 3, testutil.CollectAndCount(g.moves))
}

func TestBounded(t *testing.T) {
	assert.Equal(t, "short", replicas.Bounded("short"))
	long := replicas.Bounded(strings.Repeat("ü", 2000))
	assert.LessOrEqual(t, len(long), 1003)
	assert.Equal(t, long, strings.ToValidUTF8(long, "?"))
}

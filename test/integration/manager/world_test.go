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

package manager

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/standin"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// world is a namespace, the clusters of one test, and the binaries at work on them.
type world struct {
	t         *testing.T
	ctx       context.Context
	namespace string
	manager   *hubtest.Program
	scheduler *hubtest.Program
}

// newWorld starts with no cluster and no deployment on the hub, and leaves it so.
func newWorld(t *testing.T, options standin.Options) *world {
	t.Helper()
	w := newIdleWorld(t)
	w.startStandIn(options)
	w.scheduler = hub.RunScheduler(t)
	w.manager = startManager(t, "")
	return w
}

// newIdleWorld is one in which nothing runs yet.
func newIdleWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), namespace: "test"}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	require.NoError(t, hub.Client.Create(w.ctx, ns))
	w.namespace = ns.Name
	t.Cleanup(w.empty)
	return w
}

// run runs a test of its own in a namespace of its own, with the binaries of this world.
func (w *world) run(name string, test func(*world)) {
	w.t.Run(name, func(t *testing.T) {
		inner := newIdleWorld(t)
		inner.manager, inner.scheduler = w.manager, w.scheduler
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("hub-manager:\n%s", w.manager.Tail())
			}
		})
		test(inner)
	})
}

func (w *world) startStandIn(options standin.Options) {
	w.t.Helper()
	options.KeepClusterStatus = true
	hub.RunStandIn(w.t, options)
}

// empty deletes all that the test made, so that the next one has the hub to itself.
func (w *world) empty() {
	ctx, cancel := context.WithTimeout(context.Background(), hubtest.Patience)
	defer cancel()
	in := client.InNamespace(w.namespace)
	for _, o := range []client.Object{
		&modelplane.ModelDeployment{}, &evenkeel.ReplicaPlacement{}, &modelplane.ModelEndpoint{}, &modelplane.ModelReplica{}, &modelplane.ModelCache{},
	} {
		assert.NoError(w.t, hub.Client.DeleteAllOf(ctx, o, in))
	}
	assert.NoError(w.t, hub.Client.DeleteAllOf(ctx, &modelplane.InferenceCluster{}))
	err := wait.PollUntilContextCancel(ctx, hubtest.Interval, true, func(ctx context.Context) (bool, error) {
		replicas, deployments := &modelplane.ModelReplicaList{}, &modelplane.ModelDeploymentList{}
		if err := hub.Client.List(ctx, replicas, in); err != nil {
			return false, err
		}
		for i := range replicas.Items {
			w.release(ctx, &replicas.Items[i])
		}
		return len(replicas.Items) == 0, hub.Client.List(ctx, deployments, in)
	})
	assert.NoError(w.t, err, "the namespace does not get empty")
}

// release takes away whatever holds a deleted replica, since its stand-in may be gone already.
func (w *world) release(ctx context.Context, r *modelplane.ModelReplica) {
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	_ = hub.Client.Patch(ctx, r, client.RawPatch("application/merge-patch+json", patch))
}

// eventually waits until check has nothing to say.
func (w *world) eventually(check func() string) {
	w.t.Helper()
	w.eventuallyWithin(hubtest.Patience, check)
}

func (w *world) eventuallyWithin(limit time.Duration, check func() string) {
	w.t.Helper()
	said := ""
	err := wait.PollUntilContextTimeout(w.ctx, hubtest.Interval, limit, true, func(context.Context) (bool, error) {
		said = check()
		return said == "", nil
	})
	if err != nil {
		w.t.Fatalf("waited for %s in vain: %s\n%s", limit, said, w.describe())
	}
}

// always checks again and again for a while that check has nothing to say.
func (w *world) always(during time.Duration, check func() string) {
	w.t.Helper()
	deadline := time.Now().Add(during)
	for time.Now().Before(deadline) {
		if said := check(); said != "" {
			w.t.Fatalf("%s\n%s", said, w.describe())
		}
		waitFor(w.ctx, hubtest.Interval)
	}
}

func waitFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// expect waits until exactly these replicas exist, none of them terminating: "chat@east/0(h)".
func (w *world) expect(want ...string) {
	w.t.Helper()
	slices.Sort(want)
	w.eventually(func() string {
		if got := w.replicas(); !slices.Equal(got, want) {
			return fmt.Sprintf("replicas: got %v, want %v", got, want)
		}
		return ""
	})
}

// stays waits until exactly these replicas exist, and checks that it stays so for as long as a decision takes.
func (w *world) stays(want ...string) {
	w.t.Helper()
	w.expect(want...)
	slices.Sort(want)
	w.always(time.Second, func() string {
		if got := w.replicas(); !slices.Equal(got, want) {
			return fmt.Sprintf("replicas: got %v, want %v", got, want)
		}
		return ""
	})
}

func (w *world) replicas() []string {
	w.t.Helper()
	list := &modelplane.ModelReplicaList{}
	require.NoError(w.t, hub.Client.List(w.ctx, list, client.InNamespace(w.namespace)))
	got := []string{}
	for i := range list.Items {
		r := &list.Items[i]
		s := fmt.Sprintf("%s@%s/%s", r.Labels[modelplane.LabelDeployment], r.Spec.ClusterName, r.Labels[modelplane.LabelReplicaIndex])
		if pools := poolsOf(r); pools != "" {
			s += "(" + pools + ")"
		}
		if r.DeletionTimestamp != nil {
			s += " terminating"
		}
		got = append(got, s)
	}
	slices.Sort(got)
	return got
}

func poolsOf(r *modelplane.ModelReplica) string {
	var pools []string
	for _, e := range r.Spec.Engines {
		for _, m := range e.Members {
			if !slices.Contains(pools, m.NodePoolName) {
				pools = append(pools, m.NodePoolName)
			}
		}
	}
	return strings.Join(pools, ",")
}

// expectCondition waits until a deployment's condition is as given; a message that ends in "..." is a beginning.
func (w *world) expectCondition(deployment, conditionType string, status metav1.ConditionStatus, reason, message string) {
	w.t.Helper()
	w.eventually(func() string {
		c := w.condition(deployment, conditionType)
		prefix, open := strings.CutSuffix(message, "...")
		if c.Status == status && c.Reason == reason && (c.Message == message || open && strings.HasPrefix(c.Message, prefix)) {
			return ""
		}
		return fmt.Sprintf("%s: got %s %s %q, want %s %s %q", conditionType, c.Status, c.Reason, c.Message, status, reason, message)
	})
}

func (w *world) condition(deployment, conditionType string) metav1.Condition {
	w.t.Helper()
	for _, c := range w.deployment(deployment).Status.Conditions {
		if c.Type == conditionType {
			return c
		}
	}
	return metav1.Condition{}
}

func (w *world) deployment(name string) *modelplane.ModelDeployment {
	w.t.Helper()
	d := &modelplane.ModelDeployment{}
	require.NoError(w.t, hub.Client.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, d))
	return d
}

func (w *world) replica(name string) *modelplane.ModelReplica {
	w.t.Helper()
	r := &modelplane.ModelReplica{}
	require.NoError(w.t, hub.Client.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, r))
	return r
}

// expectEvent waits for an event about a deployment.
func (w *world) expectEvent(deployment, reason, note string) {
	w.t.Helper()
	w.expectEventOn("ModelDeployment", deployment, reason, note)
}

func (w *world) expectPlacementEvent(placement, reason, note string) {
	w.t.Helper()
	w.expectEventOn("ReplicaPlacement", placement, reason, note)
}

func (w *world) expectEventOn(kind, name, reason, note string) {
	w.t.Helper()
	w.eventually(func() string {
		var notes []string
		for _, e := range w.events(kind, name) {
			if e.Reason == reason && strings.Contains(e.Note, note) {
				return ""
			}
			notes = append(notes, e.Reason+": "+e.Note)
		}
		return fmt.Sprintf("no event %s with %q among %q", reason, note, notes)
	})
}

func (w *world) events(kind, name string) []eventsv1.Event {
	w.t.Helper()
	list := &eventsv1.EventList{}
	require.NoError(w.t, hub.Client.List(w.ctx, list, client.InNamespace(w.namespace)))
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool {
		return e.Regarding.Kind != kind || e.Regarding.Name != name
	})
}

// update changes an object until the change goes through.
func update[T client.Object](w *world, o T, change func(T)) {
	w.t.Helper()
	w.eventually(func() string {
		if err := hub.Client.Get(w.ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		change(o)
		if err := hub.Client.Update(w.ctx, o); err != nil {
			return err.Error()
		}
		return ""
	})
}

// describe shows what there is, for a test that has failed.
func (w *world) describe() string {
	var b strings.Builder
	deployments, placements := &modelplane.ModelDeploymentList{}, &evenkeel.ReplicaPlacementList{}
	_ = hub.Client.List(w.ctx, deployments, client.InNamespace(w.namespace))
	_ = hub.Client.List(w.ctx, placements, client.InNamespace(w.namespace))
	for _, d := range deployments.Items {
		fmt.Fprintf(&b, "deployment %s wants %d: %s\n", d.Name, d.Spec.Replicas, conditions(d.Status.Conditions))
	}
	slices.SortFunc(placements.Items, func(a, b evenkeel.ReplicaPlacement) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range placements.Items {
		fmt.Fprintf(&b, "placement %s", p.Name)
		if a := p.Status.Assignment; a != nil {
			fmt.Fprintf(&b, " on %s/%d", a.ClusterName, a.Index)
		}
		fmt.Fprintf(&b, ": %s", conditions(p.Status.Conditions))
		if m := p.Status.Move; m != nil {
			fmt.Fprintf(&b, " move %+v", *m)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "replicas %v\n", w.replicas())
	return b.String()
}

func conditions(list []metav1.Condition) string {
	var out []string
	for _, c := range list {
		out = append(out, fmt.Sprintf("%s=%s/%s(%s)", c.Type, c.Status, c.Reason, c.Message))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

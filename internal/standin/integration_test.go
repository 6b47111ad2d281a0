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

package standin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/go-logr/logr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

const (
	patience = 2 * time.Minute
	pause    = 50 * time.Millisecond
)

var (
	hub     *controlplane.ControlPlane
	cluster client.WithWatch
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	ctx := context.Background()
	if hub, err = controlplane.Start(ctx, controlplane.Options{}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, hub.Stop()) }()
	if err := hub.InstallCRDs(ctx, "../../manifests/dev/crds", "../../manifests/dev/crds-gateway-api"); err != nil {
		return 1, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(modelplane.AddToScheme(scheme), gatewayv1.Install(scheme)); err != nil {
		return 1, err
	}
	if cluster, err = client.NewWithWatch(hub.Config(), client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// abandonedSend is a goroutine of controller-runtime's queue that stays behind, now and then, where the worker that it
// has an item for ends first: it sends without regard to the end.
const abandonedSend = "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue.(*priorityqueue[...]).handleReadyItems"

// run runs a stand-in for the time of a test, and fails the test if it leaves a
// goroutine behind.
func run(t *testing.T, options Options) *StandIn {
	running := goleak.IgnoreCurrent()
	s, err := New(hub.Config(), options)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
		var left error
		_ = wait.PollUntilContextTimeout(context.Background(), pause, patience, true, func(context.Context) (bool, error) {
			left = goleak.Find(running, goleak.IgnoreAnyFunction(abandonedSend))
			return left == nil, nil
		})
		assert.NoError(t, left)
	})
	return s
}

// create makes an object that goes at the end of the test.
func create(t *testing.T, object client.Object) {
	require.NoError(t, cluster.Create(t.Context(), object))
	t.Cleanup(func() {
		// The stand-in of the test, which would let it go, has ended.
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		ctx := context.Background()
		assert.NoError(t, client.IgnoreNotFound(cluster.Patch(ctx, object, patch)))
		assert.NoError(t, client.IgnoreNotFound(cluster.Delete(ctx, object)))
	})
}

func eventually(t *testing.T, what string, holds func(ctx context.Context) (bool, error)) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), pause, patience, true, holds)
	require.NoError(t, err, "waiting for: %s", what)
}

func newCluster(name, class string) *modelplane.InferenceCluster {
	return &modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: modelplane.InferenceClusterSpec{
			Cluster: modelplane.ClusterSpec{
				Source:   modelplane.ClusterSourceExisting,
				Existing: &modelplane.ExistingCluster{SecretRef: modelplane.SecretKeyReference{Name: name}},
			},
			NodePools: []modelplane.NodePool{{Name: "a", ClassName: class, NodeCount: ptr.To[int32](2)}},
		},
	}
}

func newClass(name string) *modelplane.InferenceClass {
	return &modelplane.InferenceClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: modelplane.InferenceClassSpec{Devices: []modelplane.DeviceTemplate{
			{Name: "gpu", Driver: "gpu.test", DeviceClassName: "gpu.test", Count: ptr.To[int64](8)},
		}},
	}
}

func newReplica(name, clusterName string) *modelplane.ModelReplica {
	return &modelplane.ModelReplica{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: modelplane.ModelReplicaSpec{
			ClusterName: clusterName,
			Engines: []modelplane.ReplicaEngine{{Name: "main", Members: []modelplane.ReplicaMember{{
				NodePoolName:   "a",
				DeviceRequests: []modelplane.ReplicaDeviceRequest{{Name: "gpu", DeviceClassName: "gpu.test"}},
			}}}},
		},
	}
}

// history records the versions of an object that the API server tells of.
type history struct {
	t     *testing.T
	watch watch.Interface
}

func follow(t *testing.T, name string) *history {
	w, err := cluster.Watch(t.Context(), &modelplane.ModelReplicaList{},
		client.InNamespace("default"), client.MatchingFields{"metadata.name": name})
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	return &history{t: t, watch: w}
}

// until returns a line a version, and stops with the first that is the last wanted.
func (h *history) until(last string) []string {
	h.t.Helper()
	var seen []string
	deadline := time.After(patience)
	for {
		select {
		case event, ok := <-h.watch.ResultChan():
			require.True(h.t, ok, "the watch ended after %q", seen)
			line := describe(event)
			seen = append(seen, line)
			if line == last {
				return seen
			}
		case <-deadline:
			require.Fail(h.t, "deadline", "waiting for %q, seen: %q", last, seen)
		}
	}
}

func describe(event watch.Event) string {
	replica, ok := event.Object.(*modelplane.ModelReplica)
	if !ok {
		return fmt.Sprintf("%s %v", event.Type, event.Object)
	}
	line := string(event.Type)
	if ready := meta.FindStatusCondition(replica.Status.Conditions, conditionModelReady); ready != nil {
		line += " " + ready.Reason
	}
	if len(replica.Finalizers) > 0 {
		line += " held"
	}
	if !replica.DeletionTimestamp.IsZero() {
		line += " terminating"
	}
	return line
}

func TestClusterIsPublished(t *testing.T) {
	east := newCluster("east", "big")
	create(t, east)
	drained := metav1.Condition{Type: "Drained", Status: metav1.ConditionTrue, Reason: "Drained", LastTransitionTime: metav1.Now()}
	east.Status.Conditions = []metav1.Condition{drained}
	require.NoError(t, cluster.Status().Update(t.Context(), east))

	s := run(t, Options{})
	condition := func(conditionType string) string {
		require.NoError(t, cluster.Get(t.Context(), client.ObjectKeyFromObject(east), east))
		if c := meta.FindStatusCondition(east.Status.Conditions, conditionType); c != nil {
			return c.Reason
		}
		return ""
	}
	eventually(t, "the missing class is named", func(context.Context) (bool, error) {
		return condition(conditionClusterReady) == reasonWaitingForClasses, nil
	})
	assert.Empty(t, east.Status.GPUPools)

	create(t, newClass("big"))
	eventually(t, "the cluster is ready", func(context.Context) (bool, error) {
		return condition(modelplane.ConditionReady) == reasonAvailable, nil
	})
	require.Len(t, east.Status.GPUPools, 1)
	assert.EqualValues(t, 2, east.Status.GPUPools[0].Nodes)
	assert.EqualValues(t, 8, *east.Status.GPUPools[0].Devices[0].Count)
	assert.NotEmpty(t, east.Status.Gateway.Address)
	assert.Equal(t, "Drained", condition("Drained"), "somebody else's condition was lost")
	eventually(t, "the counter", func(context.Context) (bool, error) { return s.Counters().ClustersPublished == 2, nil })
}

func TestReplicaLoadsAndIsHeld(t *testing.T) {
	create(t, newCluster("east", "big"))
	s := run(t, Options{LoadTime: 200 * time.Millisecond, HoldTime: 200 * time.Millisecond})
	seen := follow(t, "loads")
	replica := newReplica("loads", "east")
	create(t, replica)
	assert.Equal(t, []string{"ADDED", "MODIFIED held", "MODIFIED ModelStarting held", "MODIFIED Serving held"},
		seen.until("MODIFIED Serving held"))

	require.NoError(t, cluster.Delete(t.Context(), replica))
	assert.Equal(t, []string{"MODIFIED Serving held terminating", "DELETED Serving held terminating"},
		seen.until("DELETED Serving held terminating"))
	eventually(t, "the counters", func(context.Context) (bool, error) {
		c := s.Counters()
		return c.ReplicasLoaded == 1 && c.ReplicasReleased == 1 && c.ReplicasFailed == 0, nil
	})
}

// TestFastest is what benchmarks rely on: one write makes a replica ready, and
// nothing holds it.
func TestFastest(t *testing.T) {
	create(t, newCluster("east", "big"))
	run(t, Options{})
	seen := follow(t, "fast")
	replica := newReplica("fast", "east")
	create(t, replica)
	assert.Equal(t, []string{"ADDED", "MODIFIED Serving"}, seen.until("MODIFIED Serving"))
	require.NoError(t, cluster.Delete(t.Context(), replica))
	assert.Equal(t, []string{"DELETED Serving"}, seen.until("DELETED Serving"))
}

func TestReplicaFailsOnPurpose(t *testing.T) {
	create(t, newCluster("east", "big"))
	s := run(t, Options{})
	seen := follow(t, "fails")
	replica := newReplica("fails", "east")
	replica.Annotations = map[string]string{AnnotationFail: "no image"}
	create(t, replica)
	seen.until("MODIFIED ModelStarting")
	require.NoError(t, cluster.Get(t.Context(), client.ObjectKeyFromObject(replica), replica))
	failed := meta.FindStatusCondition(replica.Status.Conditions, conditionModelReady)
	assert.Contains(t, failed.Message, "no image")
	eventually(t, "the counter", func(context.Context) (bool, error) { return s.Counters().ReplicasFailed == 1, nil })

	annotate := func(object client.Object, value string) {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, AnnotationFail, value)
		require.NoError(t, cluster.Patch(t.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch))))
	}
	annotate(replica, "null")
	seen.until("MODIFIED Serving")
	annotate(newCluster("east", "big"), `"no network"`)
	seen.until("MODIFIED ModelStarting")
	annotate(newCluster("east", "big"), "null")
	seen.until("MODIFIED Serving")
}

func TestReplicaWaitsForItsCluster(t *testing.T) {
	run(t, Options{})
	seen := follow(t, "waits")
	create(t, newReplica("waits", "east"))
	seen.until("MODIFIED WaitingForModel")
	create(t, newCluster("east", "big"))
	seen.until("MODIFIED Serving")
}

// TestRestart makes sure that a stand-in which comes back does not load again what
// serves, and lets go what its predecessor held.
func TestRestart(t *testing.T) {
	create(t, newCluster("east", "big"))
	replica := newReplica("restart", "east")
	seen := follow(t, "restart")
	t.Run("before", func(t *testing.T) {
		run(t, Options{HoldTime: time.Hour})
		require.NoError(t, cluster.Create(t.Context(), replica))
		seen.until("MODIFIED Serving held")
	})
	require.NoError(t, cluster.Delete(t.Context(), replica))
	run(t, Options{LoadTime: time.Hour})
	assert.Equal(t, []string{"MODIFIED Serving held terminating", "DELETED Serving held terminating"},
		seen.until("DELETED Serving held terminating"))
}

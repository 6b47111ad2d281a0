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

// Package scheduler tests the hub scheduler as it is shipped: the built binary, as a process of its own, against a real
// etcd and API server.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

const (
	interval = 20 * time.Millisecond
	// namespace that the tests place in.
	namespace = "default"
)

// hub is a control plane with the custom resources.
type hub struct {
	*hubtest.Hub
	client.Client
	t *testing.T
}

func newHub(t *testing.T, options controlplane.Options) *hub {
	t.Helper()
	log.SetLogger(logr.Discard()) // or controller-runtime complains at length
	options.DisableControllerManager = true
	started, err := hubtest.Start(context.Background(), options, "dev/crds")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, started.Stop()) })
	return &hub{Hub: started, Client: started.Client, t: t}
}

// process is a running hub scheduler.
type process struct {
	*hubtest.Program
	t *testing.T
}

// startScheduler runs the binary until the test ends. Without a --leader-elect flag among args there is no election.
func (h *hub) startScheduler(args ...string) *process {
	h.t.Helper()
	said := strings.Join(args, " ")
	for _, flag := range []string{"--v=3", "--secure-port=0", "--leader-elect=false"} {
		if name, _, _ := strings.Cut(flag, "="); !strings.Contains(said, name+"=") {
			args = append(args, flag)
		}
	}
	if !strings.Contains(said, "--config=") {
		args = append(args, "--kubeconfig="+h.KubeconfigPath())
	}
	p := &process{Program: hubtest.Run(h.t, "hub-scheduler", args...), t: h.t}
	h.t.Cleanup(func() {
		if strings.Contains(p.Output(), "panic") {
			h.t.Errorf("the hub scheduler panicked:\n%s", p.Output())
		}
	})
	return p
}

// waitClusterSeen waits until the scheduler knows a new cluster, and its status if it has one. It needs --v=4.
func (p *process) waitClusterSeen(name string, hasStatus bool) {
	p.t.Helper()
	event := "Add"
	if hasStatus {
		event = "Update"
	}
	p.waitSaid(fmt.Sprintf("%q node=%q", event+" event for node", name), 1)
}

// waitSaid waits until the log has a text so many times.
func (p *process) waitSaid(text string, times int) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Count(p.Output(), text) >= times }, hubtest.Patience, interval, "the scheduler's log never said %s", text)
}

// attempts is how often the scheduler has tried to place a placement. It needs --v=3.
func (p *process) attempts(name string) int {
	return strings.Count(p.Output(), fmt.Sprintf(`"Attempting to schedule pod" pod="%s/%s"`, namespace, name))
}

// peakRSS is the most memory that the process has had, in MiB.
func (p *process) peakRSS() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	require.NoError(p.t, err)
	for _, line := range strings.Split(string(status), "\n") {
		var kib int
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib / 1024
		}
	}
	p.t.Fatal("no VmHWM in the process's status")
	return 0
}

// eventually polls until check returns no error.
func (h *hub) eventually(check func() error) {
	h.t.Helper()
	h.eventuallyEach(interval, check)
}

// eventuallyEach is for checks that would keep the API server busy.
func (h *hub) eventuallyEach(interval time.Duration, check func() error) {
	h.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(h.t.Context(), interval, hubtest.Patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	require.NoError(h.t, errors.Join(err, last))
}

// cluster is a cluster to create: its status is written as well.
func cluster(name string, pools ...modelplane.GPUPool) *modelplane.InferenceCluster {
	return &modelplane.InferenceCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"cluster": name}},
		Spec: modelplane.InferenceClusterSpec{Cluster: modelplane.ClusterSpec{
			Source:   modelplane.ClusterSourceExisting,
			Existing: &modelplane.ExistingCluster{SecretRef: modelplane.SecretKeyReference{Name: name}},
		}},
		Status: modelplane.InferenceClusterStatus{
			Conditions: []metav1.Condition{{Type: modelplane.ConditionReady, Status: metav1.ConditionTrue, Reason: "Available", LastTransitionTime: metav1.Now()}},
			Gateway:    &modelplane.Gateway{Address: "192.0.2.1"},
			GPUPools:   pools,
		},
	}
}

// pool has nodes with one device of 96Gi each.
func pool(name string, nodes int64) modelplane.GPUPool {
	return modelplane.GPUPool{Name: name, Nodes: nodes, Devices: []modelplane.Device{{
		Name: "gpu", Claim: modelplane.DeviceClaimDRA, Driver: "gpu.example.com", DeviceClassName: "gpu.example.com", Count: ptr.To[int64](1),
		Capacity: map[string]modelplane.DeviceCapacity{"memory": {Value: "96Gi"}},
	}}}
}

// on keeps a placement to the clusters that a test has made for itself.
func on(p *evenkeel.ReplicaPlacement, test string) *evenkeel.ReplicaPlacement {
	p.Spec.ClusterSelector = &modelplane.LabelSelector{MatchLabels: map[string]string{"test": test}}
	return p
}

// of makes a cluster one of a test's own.
func of(c *modelplane.InferenceCluster, test string) *modelplane.InferenceCluster {
	c.Labels["test"] = test
	return c
}

// placement is one replica that needs one node with a device of at least 80Gi.
func placement(deployment string, slot int32) *evenkeel.ReplicaPlacement {
	return &evenkeel.ReplicaPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d-1", deployment, slot)},
		Spec: evenkeel.ReplicaPlacementSpec{
			DeploymentName: deployment, Slot: slot, Attempt: 1, SchedulerName: evenkeel.DefaultSchedulerName,
			Engines: []evenkeel.EngineRequirements{{Name: "main", Copies: 1, Members: []evenkeel.MemberRequirements{{
				Role: modelplane.MemberRoleStandalone, Nodes: 1,
				Devices: []modelplane.DeviceRequest{{Name: "gpu", Count: ptr.To[int64](1), Selectors: []modelplane.DeviceSelector{
					{CEL: `device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0`},
				}}},
			}}}},
		},
	}
}

// create creates objects, and their status where they have one to begin with.
func (h *hub) create(objects ...client.Object) {
	h.t.Helper()
	for _, object := range objects {
		wanted := object.DeepCopyObject().(client.Object)
		require.NoError(h.t, h.Create(h.t.Context(), object))
		if c, ok := object.(*modelplane.InferenceCluster); ok {
			c.Status = wanted.(*modelplane.InferenceCluster).Status
			require.NoError(h.t, h.Status().Update(h.t.Context(), c))
		}
	}
}

// get reads a placement.
func (h *hub) get(name string) *evenkeel.ReplicaPlacement {
	h.t.Helper()
	p := &evenkeel.ReplicaPlacement{}
	require.NoError(h.t, h.Get(h.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, p))
	return p
}

// edit changes the newest version of an object.
func edit[T client.Object](h *hub, key client.ObjectKey, object T, change func(T)) {
	h.t.Helper()
	h.eventually(func() error {
		if err := h.Get(h.t.Context(), key, object); err != nil {
			return err
		}
		change(object)
		return h.Update(h.t.Context(), object)
	})
}

// editStatus changes the status of the newest version of an object.
func editStatus[T client.Object](h *hub, key client.ObjectKey, object T, change func(T)) {
	h.t.Helper()
	h.eventually(func() error {
		if err := h.Get(h.t.Context(), key, object); err != nil {
			return err
		}
		change(object)
		return h.Status().Update(h.t.Context(), object)
	})
}

// waitAssigned waits until a placement has a cluster.
func (h *hub) waitAssigned(name string) *evenkeel.ReplicaPlacement {
	h.t.Helper()
	var p *evenkeel.ReplicaPlacement
	h.eventually(func() error {
		p = h.get(name)
		if p.Status.Assignment == nil {
			return fmt.Errorf("%s has no cluster yet: %s", name, describe(p))
		}
		return nil
	})
	return p
}

// waitUnschedulable waits until a placement says that it fits nowhere, and returns what it says.
func (h *hub) waitUnschedulable(name string) string {
	h.t.Helper()
	return h.waitUnschedulableSaying(name, "")
}

// waitUnschedulableSaying waits for certain words too. Clusters and placements are watched separately, so that the first
// try may not have seen yet what was created or deleted before the placement.
func (h *hub) waitUnschedulableSaying(name, words string) string {
	h.t.Helper()
	var message string
	h.eventually(func() error {
		p := h.get(name)
		condition := meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionScheduled)
		if condition == nil || condition.Status != metav1.ConditionFalse || condition.ObservedGeneration != p.Generation ||
			!strings.Contains(condition.Message, words) {
			return fmt.Errorf("%s does not say that it is unschedulable for %q: %s", name, words, describe(p))
		}
		message = condition.Message
		return nil
	})
	return message
}

func describe(p *evenkeel.ReplicaPlacement) string {
	return fmt.Sprintf("assignment %+v, conditions %+v", p.Status.Assignment, p.Status.Conditions)
}

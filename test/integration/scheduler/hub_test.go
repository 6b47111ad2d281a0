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
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

const (
	root     = "../../.."
	patience = 3 * time.Minute
	interval = 20 * time.Millisecond
	// namespace that the tests place in.
	namespace = "default"
)

var scheme = runtime.NewScheme()

func init() {
	log.SetLogger(logr.Discard()) // or controller-runtime complains at length
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(evenkeel.AddToScheme(scheme))
	utilruntime.Must(modelplane.AddToScheme(scheme))
}

// hub is a control plane with the custom resources.
type hub struct {
	*controlplane.ControlPlane
	client.Client
	t *testing.T
}

func newHub(t *testing.T, options controlplane.Options) *hub {
	t.Helper()
	options.BinDir = filepath.Join(root, "bin", "k8s")
	options.DisableControllerManager = true
	cp, err := controlplane.Start(context.Background(), options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cp.Stop()) })
	require.NoError(t, cp.InstallCRDs(t.Context(),
		filepath.Join(root, "manifests", "hub", "crds"), filepath.Join(root, "manifests", "dev", "crds")))
	c, err := client.New(cp.Config(), client.Options{Scheme: scheme})
	require.NoError(t, err)
	return &hub{ControlPlane: cp, Client: c, t: t}
}

// process is a running hub scheduler.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	output *output
	done   chan struct{}
	err    error
}

// output keeps what the process writes, for a failing test to show.
type output struct {
	mu sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.String()
}

// startScheduler runs the binary until the test ends. Without a --leader-elect flag among args there is no election.
func (h *hub) startScheduler(args ...string) *process {
	h.t.Helper()
	binary, err := filepath.Abs(filepath.Join(root, "bin", "hub-scheduler"))
	require.NoError(h.t, err)
	var all []string
	if !strings.Contains(strings.Join(args, " "), "--v=") {
		all = append(all, "--v=3")
	}
	if !strings.Contains(strings.Join(args, " "), "--secure-port") {
		all = append(all, "--secure-port=0")
	}
	if !strings.Contains(strings.Join(args, " "), "--leader-elect") {
		all = append(all, "--leader-elect=false")
	}
	if !strings.Contains(strings.Join(args, " "), "--config") {
		all = append(all, "--kubeconfig="+h.KubeconfigPath())
	}
	p := &process{t: h.t, output: &output{}, done: make(chan struct{})}
	p.cmd = exec.Command(binary, append(all, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(h.t, p.cmd.Start(), "build it first: go build -o bin/hub-scheduler ./cmd/hub-scheduler")
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	h.t.Cleanup(func() {
		p.kill()
		if h.t.Failed() {
			h.t.Logf("the hub scheduler said:\n%s", lastLines(p.output.String(), 60))
		}
		if strings.Contains(p.output.String(), "panic") {
			h.t.Errorf("the hub scheduler panicked:\n%s", p.output)
		}
	})
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
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
	require.Eventually(p.t, func() bool { return strings.Count(p.output.String(), text) >= times }, patience, interval, "the scheduler's log never said %s", text)
}

// attempts is how often the scheduler has tried to place a placement. It needs --v=3.
func (p *process) attempts(name string) int {
	return strings.Count(p.output.String(), fmt.Sprintf(`"Attempting to schedule pod" pod="%s/%s"`, namespace, name))
}

// peakRSS is the most memory that the process has had, in MiB.
func (p *process) peakRSS() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
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

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
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
	err := wait.PollUntilContextTimeout(h.t.Context(), interval, patience, true, func(context.Context) (bool, error) {
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

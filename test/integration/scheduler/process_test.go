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
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// asShipped writes the kubeconfig of the scheduler's service account and its configuration from the manifests, with
// that kubeconfig and with leases that do not take long to run out, but longer than a busy machine stands still. Of the
// manifests it leaves out what runs pods.
func (h *hub) asShipped(folder string) string {
	h.t.Helper()
	require.NoError(h.t, h.Kubectl(h.t.Context(), "apply", "-k", hubtest.Manifest("hub", "scheduler", folder)))
	kubeconfig, err := h.Kubeconfig(h.t.Context(), hubtest.SchedulerUser)
	require.NoError(h.t, err)
	shipped, err := os.ReadFile(hubtest.Manifest("hub", "scheduler", folder, "config.yaml"))
	require.NoError(h.t, err)
	text := strings.Replace(string(shipped), "leaderElection:\n", "leaderElection:\n  leaseDuration: 10s\n  renewDeadline: 8s\n  retryPeriod: 500ms\n", 1)
	text += fmt.Sprintf("clientConnection:\n  kubeconfig: %s\n", kubeconfig)
	path := filepath.Join(h.t.TempDir(), "config.yaml")
	require.NoError(h.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (h *hub) leader() string {
	lease := &coordinationv1.Lease{}
	if err := h.Get(h.t.Context(), client.ObjectKey{Namespace: hubtest.SystemNamespace, Name: "evenkeel-hub-scheduler"}, lease); err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// Two instances as shipped, with the shipped role and nothing more: one leads, and the other takes over.
func TestLeaderElectionAndRole(t *testing.T) {
	h := newHub(t, controlplane.Options{})
	configuration := h.asShipped("default")
	h.create(cluster("east", pool("h100", 9)))

	first := h.startScheduler("--config="+configuration, "--leader-elect=true")
	h.eventually(func() error { return unless(h.leader() != "", "nobody leads") })
	firstLeader := h.leader()
	second := h.startScheduler("--config="+configuration, "--leader-elect=true")
	h.create(placement("chat", 0), on(placement("pending", 0), "nowhere"))
	h.waitAssigned("chat-0-1")
	h.waitUnschedulable("pending-0-1")
	h.eventually(func() error {
		return unless(strings.Contains(second.Output(), "Attempting to acquire leader lease"), "the second does not stand for election")
	})
	assert.Zero(t, second.attempts("chat-0-1"))

	first.Kill()
	h.create(placement("chat", 1))
	h.waitAssigned("chat-1-1")
	assert.NotEqual(t, firstLeader, h.leader())
	for _, instance := range []*process{first, second} {
		assert.NotContains(t, instance.Output(), "forbidden", "the shipped role is enough")
	}
}

// The endpoints that people know from kube-scheduler.
func TestEndpoints(t *testing.T) {
	h := newHub(t, controlplane.Options{})
	h.create(cluster("east", pool("h100", 1)))
	number, err := controlplane.FreePort()
	require.NoError(t, err)
	port := strconv.Itoa(number)
	h.startScheduler("--secure-port="+port, "--bind-address=127.0.0.1", "--authentication-kubeconfig="+h.KubeconfigPath(),
		"--authorization-kubeconfig="+h.KubeconfigPath(), "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics,/configz")
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // a certificate made at the start
	get := func(path string) (string, error) {
		response, err := insecure.Get("https://127.0.0.1:" + port + path)
		if err != nil {
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s: %s", path, response.Status, body)
		}
		return string(body), err
	}
	for _, path := range []string{"/readyz", "/healthz", "/livez"} {
		h.eventually(func() error { _, err := get(path); return err })
	}
	h.create(placement("chat", 0))
	h.waitAssigned("chat-0-1")
	h.eventually(func() error {
		metrics, err := get("/metrics")
		if err == nil && !strings.Contains(metrics, `scheduler_schedule_attempts_total{profile="evenkeel",result="scheduled"} 1`) {
			err = fmt.Errorf("no attempt of profile evenkeel in the metrics")
		}
		return err
	})
	configz, err := get("/configz")
	require.NoError(t, err)
	assert.Contains(t, configz, `"SchedulerName":"evenkeel"`)
	assert.Contains(t, configz, "PlacementBinder")
}

// Quotas of nodes, by the shipped example.
func TestCapacityProfile(t *testing.T) {
	h := newHub(t, controlplane.Options{})
	schedulerPlugins, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/scheduler-plugins").Output()
	require.NoError(t, err)
	require.NoError(t, h.InstallCRDs(t.Context(), filepath.Join(strings.TrimSpace(string(schedulerPlugins)), "manifests", "capacityscheduling", "crd.yaml")))
	configuration := h.asShipped("capacity")
	h.create(cluster("east", pool("h100", 9)))
	quota := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota",
		"metadata": map[string]any{"name": "nodes", "namespace": namespace},
		"spec":     map[string]any{"min": map[string]any{"evenkeel.io/nodes": "2"}, "max": map[string]any{"evenkeel.io/nodes": "2"}},
	}}
	require.NoError(t, h.Create(t.Context(), quota))
	sched := h.startScheduler("--config="+configuration, "--leader-elect=false")

	h.create(placement("chat", 0))
	h.waitAssigned("chat-0-1")
	h.create(placement("chat", 1))
	h.waitAssigned("chat-1-1")
	h.create(placement("chat", 2))
	assert.Contains(t, h.waitUnschedulable("chat-2-1"), "0/1 clusters are available")

	require.NoError(t, h.Delete(t.Context(), placement("chat", 0)))
	h.waitAssigned("chat-2-1")
	assert.NotContains(t, sched.Output(), "forbidden", "the shipped role is enough")
}

// Two namespaces with a minimum of one and of two nodes share three: the one that has borrowed the other's yields when they
// are wanted, by the replica that its DisruptionPolicies can spare: without one the lowest priority would go. This test does
// the manager's part.
func TestCapacityYields(t *testing.T) {
	h := newHub(t, controlplane.Options{})
	schedulerPlugins, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/scheduler-plugins").Output()
	require.NoError(t, err)
	require.NoError(t, h.InstallCRDs(t.Context(), filepath.Join(strings.TrimSpace(string(schedulerPlugins)), "manifests", "capacityscheduling", "crd.yaml")))
	configuration := h.asShipped("capacity")
	const other = "other-team"
	h.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}}, cluster("east", pool("h100", 3)))
	for team, least := range map[string]string{namespace: "1", other: "2"} {
		h.create(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota",
			"metadata": map[string]any{"name": "nodes", "namespace": team},
			"spec":     map[string]any{"min": map[string]any{"evenkeel.io/nodes": least}, "max": map[string]any{"evenkeel.io/nodes": "3"}},
		}})
	}
	sched := h.startScheduler("--config="+configuration, "--leader-elect=false")
	h.create(spareNone("tool")...)
	for deployment, priority := range map[string]int32{"tool": 0, "chat": 10, "embed": 20} {
		p := placement(deployment, 0)
		p.Spec.Priority = ptr.To(priority)
		h.create(p)
		h.waitAssigned(p.Name)
	}

	wanted := placement("search", 0)
	wanted.Namespace = other
	h.create(wanted)
	var victim *evenkeel.ReplicaPlacement
	h.eventually(func() error {
		victims := 0
		for _, name := range []string{"chat-0-1", "tool-0-1", "embed-0-1"} {
			if p := h.get(name); p.Status.PreemptedBy != nil {
				victims, victim = victims+1, p
			}
		}
		if victims != 1 {
			return fmt.Errorf("%d placements are asked to leave, not 1", victims)
		}
		return nil
	})
	assert.Equal(t, "chat-0-1", victim.Name)
	assert.Equal(t, evenkeel.Preemptor{Namespace: other, Name: "search-0-1", UID: wanted.UID}, *victim.Status.PreemptedBy)

	require.NoError(t, h.Delete(t.Context(), victim))
	h.eventually(func() error {
		p := &evenkeel.ReplicaPlacement{}
		if err := h.Get(t.Context(), client.ObjectKeyFromObject(wanted), p); err != nil {
			return err
		}
		if p.Status.Assignment == nil {
			return fmt.Errorf("%s has no cluster yet: %s", p.Name, describe(p))
		}
		return nil
	})
	assert.NotContains(t, sched.Output(), "forbidden", "the shipped role is enough")
}

// spareNone is a deployment of one replica and a policy that cannot spare it.
func spareNone(deployment string) []client.Object {
	d := &modelplane.ModelDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: deployment, Labels: map[string]string{"app": deployment}}}
	d.Spec.Replicas = 1
	engine := placement(deployment, 0).Spec.Engines[0]
	d.Spec.Template.Spec.Engines = []modelplane.Engine{{Name: engine.Name, Members: []modelplane.Member{{
		Role:         engine.Members[0].Role,
		NodeSelector: &modelplane.NodeSelector{Devices: engine.Members[0].Devices},
		Template:     &modelplane.MemberTemplate{Spec: &modelplane.MemberPodSpec{Containers: []modelplane.Container{{Name: "engine", Image: "registry.example/engine:1"}}}},
	}}}}
	p := &evenkeel.DisruptionPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: deployment}}
	p.Spec.Selector = &metav1.LabelSelector{MatchLabels: d.Labels}
	return []client.Object{d, p}
}

// A profile that would bind or preempt as kube-scheduler does is refused with the way out.
func TestUnsuitableProfile(t *testing.T) {
	h := newHub(t, controlplane.Options{})
	h.create(cluster("east", pool("h100", 1)))
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(fmt.Sprintf(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s}
profiles:
- plugins: {bind: {enabled: [{name: DefaultBinder}], disabled: [{name: PlacementBinder}]}}
`, h.KubeconfigPath())), 0o600))
	h.startScheduler("--config=" + path)
	h.create(placement("chat", 0))
	h.eventually(func() error {
		p := h.get("chat-0-1")
		for _, condition := range p.Status.Conditions {
			if strings.Contains(condition.Message, "enable the plugin PlacementBinder") {
				return nil
			}
		}
		return fmt.Errorf("nothing says what is wrong: %s", describe(p))
	})
}

func TestStopsWhenAsked(t *testing.T) {
	h := newHub(t, controlplane.Options{})
	sched := h.startScheduler()
	h.create(cluster("east", pool("h100", 1)), placement("chat", 0))
	h.waitAssigned("chat-0-1")
	sched.Signal(os.Interrupt)
	h.eventually(func() error { return unless(!sched.Running(), "the scheduler goes on after an interrupt") })
}

func unless(ok bool, what string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%s", what)
}

// An API server that starts anew has no history of events, so that watches cannot resume where they ended.
func TestAPIServerRestarts(t *testing.T) {
	h := newHub(t, controlplane.Options{})
	h.create(cluster("east", pool("h100", 1)), cluster("west", pool("h100", 0)))
	sched := h.startScheduler()
	h.create(placement("chat", 0))
	h.waitAssigned("chat-0-1") // before there is another: what a starting scheduler lists has no order
	h.create(placement("chat", 1))
	h.waitUnschedulable("chat-1-1")

	require.NoError(t, h.Restart(t.Context(), controlplane.APIServer))
	require.NoError(t, h.Delete(t.Context(), cluster("west")))
	h.create(cluster("west", pool("h100", 1)))

	assert.Equal(t, "west", h.waitAssigned("chat-1-1").Status.Assignment.ClusterName)
	h.create(placement("chat", 2))
	h.waitUnschedulable("chat-2-1")
	assert.NotContains(t, sched.Output(), "cache is corrupted")
}

// A release is built with Evenkeel's version, which is none of Kubernetes'.
func TestReleasedVersionStarts(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "hub-scheduler")
	build := exec.Command("go", "build", "-ldflags", "-X k8s.io/component-base/version.gitVersion=v1.2.3", "-o", binary, "./cmd/hub-scheduler")
	build.Dir = hubtest.Root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	written := filepath.Join(dir, "written.yaml")
	out, err = exec.Command(binary, "--master=http://127.0.0.1:1", "--secure-port=0", "--write-config-to="+written).CombinedOutput()
	require.NoError(t, err, "%s", out)
	configuration, err := os.ReadFile(written)
	require.NoError(t, err)
	assert.Contains(t, string(configuration), "schedulerName: evenkeel")
}

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

package controlplane_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

func TestRestartKeepsDataAndAddress(t *testing.T) {
	ownTempDir(t)
	cp := start(t, controlplane.Options{})
	clientset := client(t, cp.Config())
	create(t, clientset, "before")

	for _, component := range []controlplane.Component{controlplane.Etcd, controlplane.APIServer, controlplane.ControllerManager} {
		t.Run(string(component), func(t *testing.T) {
			before := cp.PIDs()[component]
			require.NotZero(t, before)

			require.NoError(t, cp.Kill(component))
			require.False(t, runs(before))
			require.NotContains(t, cp.PIDs(), component)
			require.NoError(t, cp.Kill(component), "killing a dead one")
			if component == controlplane.APIServer {
				_, err := clientset.Discovery().ServerVersion()
				require.ErrorContains(t, err, "connection refused")
			}

			require.NoError(t, cp.Restart(t.Context(), component))
			after := cp.PIDs()[component]
			assert.NotZero(t, after)
			assert.NotEqual(t, before, after)
			assert.True(t, exists(t, clientset, "before"), "data was lost")
			create(t, clientset, "after-"+string(component))
		})
	}

	t.Run("one that runs", func(t *testing.T) {
		before := cp.PIDs()[controlplane.APIServer]
		require.NoError(t, cp.Restart(t.Context(), controlplane.APIServer))
		assert.NotEqual(t, before, cp.PIDs()[controlplane.APIServer])
		assert.True(t, exists(t, clientset, "before"))
	})

	t.Run("unknown component", func(t *testing.T) {
		assert.ErrorContains(t, cp.Kill("kubelet"), `no component is called "kubelet"`)
		assert.ErrorContains(t, cp.Restart(t.Context(), "kubelet"), `no component is called "kubelet"`)
	})
}

// Restart of a component that was left out starts it: a benchmark can create its
// objects before there is a scheduler.
func TestSchedulerStartedLater(t *testing.T) {
	ownTempDir(t)
	// The controller that minds missing kubelets would taint the node.
	cp := start(t, controlplane.Options{ControllerManagerArgs: []string{"--controllers=*,-node-lifecycle-controller"}})
	require.NotContains(t, cp.PIDs(), controlplane.Scheduler)
	clientset := client(t, cp.Config())
	room := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}
	_, err := clientset.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	status, err := json.Marshal(corev1.Node{Status: corev1.NodeStatus{Allocatable: room, Capacity: room}})
	require.NoError(t, err)
	// A patch, since controllers write the node too.
	_, err = clientset.CoreV1().Nodes().PatchStatus(t.Context(), "n", status)
	require.NoError(t, err)
	// No wait is needed before the first pod: its service account is there. The
	// toleration is for the taint that admission puts on every new node.
	_, err = clientset.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: corev1.PodSpec{
			Containers:  []corev1.Container{{Name: "c", Image: "none"}},
			Tolerations: []corev1.Toleration{{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)

	require.NoError(t, cp.Restart(t.Context(), controlplane.Scheduler))

	require.Eventually(t, func() bool {
		pod, err := clientset.CoreV1().Pods("default").Get(t.Context(), "p", metav1.GetOptions{})
		return err == nil && pod.Spec.NodeName == "n"
	}, patience, interval, "the default scheduler did not bind the pod")
}

// Stop does not wait for a component that cannot become ready.
func TestStopDuringRestart(t *testing.T) {
	tmp := ownTempDir(t)
	cp := start(t, controlplane.Options{DisableControllerManager: true})
	require.NoError(t, cp.Kill(controlplane.Etcd))
	before := cp.PIDs()[controlplane.APIServer]
	restarted := make(chan error, 1)
	go func() { restarted <- cp.Restart(t.Context(), controlplane.APIServer) }()
	require.Eventually(t, func() bool {
		now := cp.PIDs()[controlplane.APIServer]
		return now != 0 && now != before
	}, patience, interval)

	require.NoError(t, cp.Stop())

	assert.ErrorContains(t, <-restarted, "the control plane was stopped")
	requireNothingIn(t, tmp)
	requireNoComponents(t, tmp)
}

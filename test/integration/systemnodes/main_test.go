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

package systemnodes

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/workloadcluster"
)

const (
	root = "../../.."
	// readyAfter is long enough for the prober to see a Service whose only pod starts, and short for those who wait.
	readyAfter = 5 * workloadcluster.ProbeInterval
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// start brings up a cluster with the components on it, which ends with the test.
func start(t *testing.T, options workloadcluster.Options) *workloadcluster.Cluster {
	t.Helper()
	var err error
	options.Root, err = filepath.Abs(root)
	require.NoError(t, err)
	options.ReadyAfter = readyAfter
	// Cleanups run after the test's own context has ended.
	c, err := workloadcluster.Start(context.WithoutCancel(t.Context()), options)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			keepLogs(t, c)
		}
		assert.NoError(t, c.Stop())
	})
	require.NoError(t, c.Install(t.Context()))
	return c
}

func keepLogs(t *testing.T, c *workloadcluster.Cluster) {
	for _, path := range c.Logs() {
		content, err := os.ReadFile(path)
		if err != nil || filepath.Base(path) == "kwok.log" {
			continue // kwok complains of pods that are gone already
		}
		t.Logf("the end of %s:\n%s", filepath.Base(path), content[max(0, len(content)-6000):])
	}
}

// eventually polls with a deadline that a loaded machine does not reach.
func eventually(t *testing.T, what string, holds func(c *assert.CollectT)) {
	t.Helper()
	require.EventuallyWithT(t, holds, workloadcluster.Patience, workloadcluster.Pause, what)
}

func getDeployment(t require.TestingT, c *workloadcluster.Cluster, namespace, name string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	require.NoError(t, c.Client.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: name}, d))
	return d
}

// nodesOf gives the nodes of a workload's pods.
func nodesOf(t require.TestingT, c *workloadcluster.Cluster, namespace, key, value string) []string {
	nodes, err := c.PodNodes(context.Background(), namespace, map[string]string{key: value})
	require.NoError(t, err)
	return nodes
}

// hasEvent tells whether an event with a reason was told about an object.
func hasEvent(t require.TestingT, c *workloadcluster.Cluster, namespace, name, reason string) string {
	list := &eventsv1.EventList{}
	require.NoError(t, c.Client.List(context.Background(), list, client.InNamespace(namespace)))
	for i := range list.Items {
		if e := &list.Items[i]; e.Regarding.Name == name && e.Reason == reason {
			return e.Note
		}
	}
	return ""
}

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
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/standin"
)

const (
	replicasScheduled = modelplane.ConditionReplicasScheduled
	replicasReady     = modelplane.ConditionReplicasReady
)

func (w *world) endpoint(name string) *modelplane.ModelEndpoint {
	w.t.Helper()
	e := &modelplane.ModelEndpoint{}
	err := hub.Client.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, e)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w.t, err)
	return e
}

func (w *world) expectEndpoint(name, url, rewritePath string) {
	w.t.Helper()
	w.eventually(func() string {
		switch e := w.endpoint(name); {
		case e == nil:
			return "no endpoint " + name
		case e.Spec.URL != url || e.Spec.RewritePath != rewritePath:
			return "endpoint " + name + " is " + e.Spec.URL + " " + e.Spec.RewritePath
		default:
			return ""
		}
	})
}

func (w *world) expectNoEndpoint(name string) {
	w.t.Helper()
	w.eventually(func() string {
		if w.endpoint(name) != nil {
			return "endpoint " + name + " exists"
		}
		return ""
	})
}

func (w *world) expectCounts(deployment string, total, ready int32) {
	w.t.Helper()
	w.eventually(func() string {
		got := w.deployment(deployment).Status.Replicas
		if got == nil || got.Total != total || got.Ready != ready {
			return "other counts"
		}
		return ""
	})
}

// TestWholeDeployments are the cases about names, endpoints and status.
func TestWholeDeployments(t *testing.T) {
	w := newWorld(t, standin.Options{})

	w.run("W1 placed and loading", func(w *world) {
		w.cluster("east", 2, failing)
		d := w.deploy("chat", 1)
		w.stays("chat@east/0(h)")
		w.expectCounts("chat", 1, 0)
		w.expectCondition("chat", replicasReady, metav1.ConditionFalse, "ModelStarting", "0 of 1 ready")
		w.expectCondition("chat", modelplane.ConditionReady, metav1.ConditionFalse, "Creating", "0 of 1 ready")
		w.expectEvent("chat", "ReplicasScheduled", "Scheduled 1 replicas across 1 clusters: east")
		r := w.replica("chat-32a9b")
		assert.Equal(t, map[string]string{
			modelplane.LabelDeployment: "chat", modelplane.LabelCluster: "east", modelplane.LabelReplicaIndex: "0",
		}, r.Labels)
		assert.Equal(t, "replica-east-0", r.Annotations[modelplane.AnnotationCompositionResourceName])
		assert.Equal(t, d.UID, metav1.GetControllerOf(r).UID)
		assert.Nil(t, w.endpoint("chat-32a9b"))
	})

	w.run("W3 ready", func(w *world) {
		w.cluster("east", 2)
		d := w.deploy("chat", 1)
		w.expectEndpoint("chat-32a9b", "http://192.0.2.1/"+w.namespace+"/chat-32a9b/v1", "/"+w.namespace+"/chat-32a9b/")
		w.expectCondition("chat", replicasReady, metav1.ConditionTrue, "AllReplicasReady", "1 of 1 ready")
		w.expectCondition("chat", replicasScheduled, metav1.ConditionTrue, "ReplicasCreated", "Scheduled 1 of 1 replicas")
		w.expectCondition("chat", modelplane.ConditionReady, metav1.ConditionTrue, "Available", "")
		e := w.endpoint("chat-32a9b")
		assert.Equal(t, w.replica("chat-32a9b").Labels, e.Labels)
		assert.Equal(t, "endpoint-east-0", e.Annotations[modelplane.AnnotationCompositionResourceName])
		assert.Equal(t, d.UID, metav1.GetControllerOf(e).UID)
	})

	w.run("W4 the gateway is lost", func(w *world) {
		w.cluster("east", 2)
		w.deploy("chat", 1)
		w.expectEndpoint("chat-32a9b", "http://192.0.2.1/"+w.namespace+"/chat-32a9b/v1", "/"+w.namespace+"/chat-32a9b/")
		w.setClusterStatus("east", noGateway)
		w.expectNoEndpoint("chat-32a9b")
		w.stays("chat@east/0(h)")
		w.expectCounts("chat", 1, 1)
	})

	w.run("W6 no room", func(w *world) {
		w.cluster("east", 0)
		w.deploy("chat", 1)
		w.expectCondition("chat", replicasScheduled, metav1.ConditionFalse, "InsufficientCapacity", "0 of 1 replicas scheduled (checked 1 clusters): 0/1 clusters are available: ...")
		w.expectCondition("chat", replicasReady, metav1.ConditionFalse, "NoReplicasScheduled", "")
		w.expectCondition("chat", modelplane.ConditionReady, metav1.ConditionFalse, "Creating", "0 of 1 replicas scheduled (checked 1 clusters)...")
		w.expectCounts("chat", 0, 0)
		w.expectEvent("chat", "FailedScheduling", "0 of 1 replicas scheduled")
	})

	// Modelplane says True "Scheduled 2 of 3 replicas", which no alert sees.
	w.run("W7 room for some", func(w *world) {
		w.cluster("east", 2)
		w.deploy("chat", 3)
		w.stays("chat@east/0(h)", "chat@east/1(h)")
		w.expectCondition("chat", replicasScheduled, metav1.ConditionFalse, "InsufficientCapacity", "2 of 3 replicas scheduled: 0/1 clusters are available: ...")
		w.expectCondition("chat", replicasReady, metav1.ConditionTrue, "AllReplicasReady", "2 of 2 ready")
		w.expectCondition("chat", modelplane.ConditionReady, metav1.ConditionFalse, "Creating", "2 of 3 replicas scheduled...")
		w.setClusterStatus("east", func(c *modelplane.InferenceCluster) { c.Status.GPUPools[0].Nodes = 3 })
		w.expect("chat@east/0(h)", "chat@east/1(h)", "chat@east/2(h)")
		w.expectCondition("chat", replicasScheduled, metav1.ConditionTrue, "ReplicasCreated", "Scheduled 3 of 3 replicas")
	})

	w.run("W9 a model cache", func(w *world) {
		w.cluster("east", 2)
		w.cluster("north", 2, labels(map[string]string{"tier": "a", "zone": "1"}))
		w.cluster("west", 2, labels(map[string]string{"tier": "b", "zone": "1"}))
		w.modelCache("weights", map[string]string{"tier": "b"})
		// On the same key the cache's label wins over the deployment's.
		w.deploy("chat", 1, cachedBy("weights"), selector(map[string]string{"tier": "a", "zone": "1"}))
		w.stays("chat@west/0(h)")
		assert.Equal(t, "weights", w.replica(placement.ReplicaName("chat", "west", 0)).Spec.ModelCacheRef.Name)
		w.expectCondition("chat", modelplane.ConditionModelCacheResolved, metav1.ConditionTrue, "ModelCacheResolved", "")
	})

	w.run("W10 a model cache that is not there", func(w *world) {
		w.cluster("east", 2)
		w.deploy("chat", 1, cachedBy("weights"))
		w.expectCondition("chat", modelplane.ConditionModelCacheResolved, metav1.ConditionFalse, "ModelCacheNotFound", "ModelCache weights not found; holding replica placement")
		w.expectCondition("chat", replicasScheduled, metav1.ConditionFalse, "InsufficientCapacity", "0 of 1 replicas scheduled (checked 1 clusters): waiting for ModelCache weights")
		w.expectEvent("chat", "ModelCacheNotFound", "holding replica placement")
		w.stays()
		w.modelCache("weights", nil)
		w.stays("chat@east/0(h)")
	})

	w.run("W12 two on one cluster", func(w *world) {
		w.cluster("east", 2)
		w.deploy("chat", 2)
		w.stays("chat@east/0(h)", "chat@east/1(h)")
		assert.Equal(t, "replica-east-0", w.replica("chat-32a9b").Annotations[modelplane.AnnotationCompositionResourceName])
		assert.Equal(t, "replica-east-1", w.replica("chat-f7a54").Annotations[modelplane.AnnotationCompositionResourceName])
		w.expectEvent("chat", "ReplicasScheduled", "Scheduled 2 replicas across 1 clusters: east")
	})

	w.run("W13 prefill and decode", func(w *world) {
		prefill, decode := engine("prefill", atLeast80Gi), engine("decode", atLeast80Gi)
		prefill.Phase, decode.Phase = "Prefill", "Decode"
		w.cluster("east", 2)
		w.deploy("chat", 1, engines(prefill, decode), func(d *modelplane.ModelDeployment) {
			d.Spec.Template.Spec.Serving = &modelplane.Serving{Mode: modelplane.ServingModePrefillDecode}
		})
		w.stays("chat@east/0(h)")
		spec := w.replica("chat-32a9b").Spec
		assert.Equal(t, modelplane.ServingModePrefillDecode, spec.Serving.Mode)
		assert.Equal(t, modelplane.EnginePhase("Prefill"), spec.Engines[0].Phase)
		assert.Equal(t, modelplane.EnginePhase("Decode"), spec.Engines[1].Phase)
	})

	// Newer Modelplanes want a hostname, older ones an address. Evenkeel takes either.
	w.run("W16 a hostname", func(w *world) {
		w.cluster("east", 2, func(c *modelplane.InferenceCluster) { c.Status.Gateway = &modelplane.Gateway{Hostname: "east.example"} })
		w.deploy("chat", 1)
		w.expectEndpoint("chat-32a9b", "https://east.example/"+w.namespace+"/chat-32a9b/v1", "/"+w.namespace+"/chat-32a9b/")
	})

	w.run("T21 two teams have a deployment of one name", func(w *world) {
		other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
		require.NoError(t, hub.Client.Create(w.ctx, other))
		w.cluster("east", 4)
		w.deploy("chat", 1)
		theirs := deploymentFor(other.Name, "chat", 2)
		require.NoError(t, hub.Client.Create(w.ctx, theirs))
		w.stays("chat@east/0(h)")
		list := &modelplane.ModelReplicaList{}
		w.eventually(func() string {
			require.NoError(t, hub.Client.List(w.ctx, list, client.InNamespace(other.Name)))
			if len(list.Items) != 2 {
				return fmt.Sprintf("they have %d replicas", len(list.Items))
			}
			return ""
		})
		require.NoError(t, hub.Client.Delete(w.ctx, theirs))
		w.eventually(func() string {
			require.NoError(t, hub.Client.List(w.ctx, list, client.InNamespace(other.Name)))
			if len(list.Items) > 0 {
				return "their replicas are still there"
			}
			return ""
		})
		w.stays("chat@east/0(h)")
	})

	w.run("the shape of a replica", func(w *world) {
		gang := engine("main", atLeast80Gi)
		gang.Copies = ptr.To[int32](2)
		container := &gang.Members[0].Template.Spec.Containers[0]
		container.Args = []string{"--served-model-name", "x"}
		container.Env = []modelplane.EnvVar{
			{Name: "PLAIN", Value: "1"},
			{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "hub"}, Key: "token",
			}}},
		}
		gang.Members[0].Template.Spec.ImagePullSecrets = []modelplane.NameReference{{Name: "registry"}}
		worker := *gang.Members[0].DeepCopy()
		gang.Members[0].Role, worker.Role = modelplane.MemberRoleLeader, modelplane.MemberRoleWorker
		gang.Members[0].NodeSelector = nil
		worker.Worker = &modelplane.WorkerGroup{Nodes: 3}
		gang.Members = append(gang.Members, worker)
		w.cluster("east", 8)
		d := w.deploy("chat", 1, engines(gang), func(d *modelplane.ModelDeployment) {
			d.Spec.Template.Metadata = &modelplane.TemplateMetadata{Labels: map[string]string{"tier": "prod"}}
		})
		w.stays("chat@east/0(h)")
		r := w.replica("chat-32a9b")
		got := r.Spec.Engines[0]
		assert.Equal(t, int32(2), *got.Copies)
		assert.Equal(t, "prod", r.Labels["tier"])
		require.Len(t, got.Members, 2)
		assert.Equal(t, modelplane.MemberRoleLeader, got.Members[0].Role)
		assert.Empty(t, got.Members[0].DeviceRequests)
		assert.Equal(t, int32(3), got.Members[1].Worker.Nodes)
		assert.Equal(t, []modelplane.ReplicaDeviceRequest{{
			Name: "gpu", DeviceClassName: "gpu.acme.test", Count: ptr.To[int64](1), Selectors: []modelplane.DeviceSelector{{CEL: atLeast80Gi}},
		}}, got.Members[1].DeviceRequests)
		for i := range got.Members {
			assert.Equal(t, d.Spec.Template.Spec.Engines[0].Members[i].Template, got.Members[i].Template)
		}
	})

	w.run("the placement of a replica", func(w *world) {
		w.cluster("east", 2)
		d := w.deploy("chat", 1)
		w.expectCondition("chat", replicasReady, metav1.ConditionTrue, "AllReplicasReady", "1 of 1 ready")
		p := w.placement("chat-0-1")
		assert.Equal(t, d.UID, metav1.GetControllerOf(p).UID)
		// The deployment may say it a moment before its placements.
		w.eventually(func() string {
			p = w.placement("chat-0-1")
			if !meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionReady) {
				return "the placement does not say that it is ready"
			}
			return ""
		})
		assert.True(t, meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionScheduled))
		assert.Nil(t, meta.FindStatusCondition(p.Status.Conditions, evenkeel.ConditionDisruptionTarget))
	})

	w.run("a deleted deployment leaves nothing", func(w *world) {
		w.cluster("east", 2)
		d := w.deploy("chat", 2)
		w.expect("chat@east/0(h)", "chat@east/1(h)")
		require.NoError(t, hub.Client.Delete(w.ctx, d))
		w.stays()
		w.eventually(func() string {
			placements := &evenkeel.ReplicaPlacementList{}
			require.NoError(t, hub.Client.List(w.ctx, placements, client.InNamespace(w.namespace)))
			if len(placements.Items) > 0 {
				return "placements are left"
			}
			return ""
		})
	})

	w.run("a deployment deleted while it waits leaves nothing", func(w *world) {
		w.cluster("east", 0)
		d := w.deploy("chat", 1)
		w.expectCondition("chat", replicasScheduled, metav1.ConditionFalse, "InsufficientCapacity", "...")
		require.NoError(t, hub.Client.Delete(w.ctx, d))
		w.eventually(func() string {
			placements := &evenkeel.ReplicaPlacementList{}
			require.NoError(t, hub.Client.List(w.ctx, placements, client.InNamespace(w.namespace)))
			if len(placements.Items) > 0 {
				return "placements are left"
			}
			return ""
		})
		w.setClusterStatus("east", func(c *modelplane.InferenceCluster) { c.Status.GPUPools[0].Nodes = 3 })
		w.stays()
	})
}

func (w *world) modelCache(name string, matchLabels map[string]string) {
	w.t.Helper()
	c := &modelplane.ModelCache{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if matchLabels != nil {
		c.Spec.ClusterSelector = &modelplane.LabelSelector{MatchLabels: matchLabels}
	}
	require.NoError(w.t, hub.Client.Create(w.ctx, c))
}

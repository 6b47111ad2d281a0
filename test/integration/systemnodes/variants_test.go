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
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/controllers/disruptionbudget"
	"github.com/evenkeel-io/evenkeel/controllers/touch"
	"github.com/evenkeel-io/evenkeel/internal/workloadcluster"
)

const models = workloadcluster.NamespaceModels

// patchDeployment changes a Deployment as a user does.
func patchDeployment(t *testing.T, c *workloadcluster.Cluster, name, patch string) {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: models, Name: name}}
	require.NoError(t, c.Client.Patch(t.Context(), d, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("kubectl-edit")))
}

// scale does what kubectl scale does.
func scale(t *testing.T, c *workloadcluster.Cluster, name string, replicas int32) {
	t.Helper()
	scaleAs(t, c, "kubectl", name, replicas)
}

func scaleAs(t *testing.T, c *workloadcluster.Cluster, manager, name string, replicas int32) {
	t.Helper()
	// The Deployment controller writes the same object meanwhile; kubectl scale tries again as well.
	require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		current, err := c.Kube.AppsV1().Deployments(models).GetScale(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		current.Spec.Replicas = replicas
		_, err = c.Kube.AppsV1().Deployments(models).UpdateScale(t.Context(), name, current, metav1.UpdateOptions{FieldManager: manager})
		return err
	}))
}

func budgetsOf(t require.TestingT, c *workloadcluster.Cluster, namespace string) []string {
	list := &policyv1.PodDisruptionBudgetList{}
	require.NoError(t, c.Client.List(context.Background(), list, client.InNamespace(namespace)))
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

func ourBudget(name string) string { return name + "-evenkeel" }

// TestVariants goes through what users and installers do, on one cluster with Evenkeel.
func TestVariants(t *testing.T) {
	t.Parallel() // it waits for most of the time
	c := start(t, workloadcluster.Options{})
	require.NoError(t, c.InstallEvenkeel(t.Context(), nil))
	spreadOut(t, c)

	t.Run("what was filled in", func(t *testing.T) { filledIn(t, c) })
	t.Run("the provider applies one replica again", func(t *testing.T) { providerApplies(t, c) })
	t.Run("the collector and the engines are left alone", func(t *testing.T) { leftAlone(t, c) })
	t.Run("kubectl scale to one is a person's word", func(t *testing.T) { scaledByPerson(t, c) })
	t.Run("autoscaled to zero", func(t *testing.T) { scaledToZero(t, c) })
	t.Run("a user's overlapping budget", func(t *testing.T) { overlappingBudget(t, c) })
	t.Run("a hopeless budget is reported", func(t *testing.T) { hopelessBudget(t, c) })
	t.Run("a picker that crashes does not block its drain", func(t *testing.T) { crashingPicker(t, c) })
	t.Run("opt-out", func(t *testing.T) { optOut(t, c) })
	t.Run("the webhook is down", func(t *testing.T) { webhookDown(t, c) })
	t.Run("the provider applies in the middle of a maintenance", func(t *testing.T) { providerInMaintenance(t, c) })
}

func filledIn(t *testing.T, c *workloadcluster.Cluster) {
	d := getDeployment(t, c, models, workloadcluster.PickerChat)
	assert.EqualValues(t, 2, *d.Spec.Replicas)
	assert.Equal(t, intstr.FromInt32(1), *d.Spec.Strategy.RollingUpdate.MaxUnavailable)
	require.Len(t, d.Spec.Template.Spec.TopologySpreadConstraints, 2)
	constraint := d.Spec.Template.Spec.TopologySpreadConstraints[0]
	assert.Equal(t, corev1.LabelHostname, constraint.TopologyKey)
	assert.Equal(t, map[string]string{"app": workloadcluster.PickerChat}, constraint.LabelSelector.MatchLabels)
	assert.Equal(t, []string{"pod-template-hash"}, constraint.MatchLabelKeys)
	assert.EqualValues(t, 9003, d.Spec.Template.Spec.Containers[0].ReadinessProbe.GRPC.Port)
	assert.Empty(t, d.Spec.Template.Spec.Tolerations, "the fallback is opt-in")
	eventually(t, "a budget for each picker", func(t *assert.CollectT) {
		assert.Equal(t, []string{ourBudget(workloadcluster.PickerChat), ourBudget(workloadcluster.PickerEmbed)}, budgetsOf(t, c, models))
	})
	assert.EqualValues(t, 2, *getDeployment(t, c, "cert-manager", "cert-manager").Spec.Replicas)
	eventually(t, "one budget for the proxies, Envoy Gateway's", func(t *assert.CollectT) {
		assert.Equal(t, []string{"envoy-gateway-evenkeel", workloadcluster.Proxy}, budgetsOf(t, c, workloadcluster.NamespaceProxies))
		assert.Contains(t, hasEvent(t, c, workloadcluster.NamespaceProxies, workloadcluster.Proxy, disruptionbudget.ReasonBudgetExists), workloadcluster.Proxy)
	})
	assert.Equal(t, []string{workloadcluster.DNS}, budgetsOf(t, c, workloadcluster.NamespaceDNS))
	assert.Equal(t, []string{"workload-manager"}, budgetsOf(t, c, workloadcluster.SystemNamespace))
}

func providerApplies(t *testing.T, c *workloadcluster.Cluster) {
	// What the provider would compare: its dry run must equal what is there.
	dry, err := c.DryRunPicker(t.Context(), models, workloadcluster.PickerChat)
	require.NoError(t, err)
	assert.EqualValues(t, 2, dry.Object["spec"].(map[string]any)["replicas"])
	eventually(t, "an apply of the same to change nothing", func(t *assert.CollectT) {
		before := getDeployment(t, c, models, workloadcluster.PickerChat)
		require.NoError(t, c.ApplyPickers(context.Background()))
		after := getDeployment(t, c, models, workloadcluster.PickerChat)
		// More than once, since the Deployment controller may write its status between the two looks.
		assert.Equal(t, before.ResourceVersion, after.ResourceVersion)
	})

	// A plain update by Helm, which states one replica.
	var helm *appsv1.Deployment
	var generation int64
	require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		helm = getDeployment(t, c, "lws-system", "mp-lws-controller-manager")
		generation = helm.Generation
		helm.Spec.Replicas = ptr.To[int32](1)
		return c.Client.Update(t.Context(), helm, client.FieldOwner(workloadcluster.Helm))
	}))
	assert.EqualValues(t, 2, *helm.Spec.Replicas)
	assert.Equal(t, generation, helm.Generation)
}

func leftAlone(t *testing.T, c *workloadcluster.Cluster) {
	for _, w := range [][2]string{{workloadcluster.NamespaceModelplane, "modelplane-collector"}, {models, "chat-32a9b-main-bb4e3"}} {
		d := getDeployment(t, c, w[0], w[1])
		assert.EqualValues(t, 1, *d.Spec.Replicas)
		assert.Empty(t, d.Spec.Template.Spec.TopologySpreadConstraints)
		assert.EqualValues(t, 1, d.Generation)
	}
}

func scaledByPerson(t *testing.T, c *workloadcluster.Cluster) {
	scale(t, c, workloadcluster.PickerChat, 1)
	eventually(t, "the report", func(t *assert.CollectT) {
		assert.Contains(t, hasEvent(t, c, models, workloadcluster.PickerChat, touch.ReasonLeftAlone), `"kubectl" has set its one replica`)
	})
	// Neither the touch nor the provider's next look overrides it.
	require.NoError(t, c.ApplyPickers(t.Context()))
	assert.EqualValues(t, 1, *getDeployment(t, c, models, workloadcluster.PickerChat).Spec.Replicas)
	scale(t, c, workloadcluster.PickerChat, 2)
	spreadOut(t, c)
}

// scaledToZero plays KEDA, which has a HorizontalPodAutoscaler scale from one replica on, and scales between none and
// one itself.
func scaledToZero(t *testing.T, c *workloadcluster.Cluster) {
	const keda = "keda-operator"
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: models, Name: "keda-hpa-embed"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: workloadcluster.PickerEmbed},
			MinReplicas:    ptr.To[int32](1),
			MaxReplicas:    5,
		},
	}
	require.NoError(t, c.StopManager())
	require.NoError(t, c.Client.Create(t.Context(), autoscaler))
	scaleAs(t, c, keda, workloadcluster.PickerEmbed, 0)
	asleep := getDeployment(t, c, models, workloadcluster.PickerEmbed)
	require.NoError(t, c.Client.DeleteAllOf(t.Context(), &eventsv1.Event{}, client.InNamespace(models)))
	// Whoever starts looks at everything. What it tells shows that it has.
	require.NoError(t, c.StartManager())
	eventually(t, "a start to look at it", func(t *assert.CollectT) {
		assert.Contains(t, hasEvent(t, c, models, workloadcluster.PickerEmbed, touch.ReasonLeftAlone), "HorizontalPodAutoscaler keda-hpa-embed scales it")
	})
	patchDeployment(t, c, workloadcluster.PickerEmbed, `{"metadata":{"annotations":{"a":"b"}}}`)
	still := getDeployment(t, c, models, workloadcluster.PickerEmbed)
	assert.Zero(t, *still.Spec.Replicas)
	assert.Equal(t, asleep.Spec, still.Spec)

	scaleAs(t, c, keda, workloadcluster.PickerEmbed, 1)
	patchDeployment(t, c, workloadcluster.PickerEmbed, `{"metadata":{"annotations":{"a":null}}}`)
	require.NoError(t, c.ApplyPickers(t.Context()))
	assert.EqualValues(t, 1, *getDeployment(t, c, models, workloadcluster.PickerEmbed).Spec.Replicas, "one is the autoscaler's")
	assert.EqualValues(t, 2, *getDeployment(t, c, models, workloadcluster.PickerChat).Spec.Replicas, "the webhook answers")

	require.NoError(t, c.Client.Delete(t.Context(), autoscaler))
	scale(t, c, workloadcluster.PickerEmbed, 2)
	spreadOut(t, c)
}

func overlappingBudget(t *testing.T, c *workloadcluster.Cluster) {
	users := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: models, Name: "users-own"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)),
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": workloadcluster.PickerChat}},
		},
	}
	require.NoError(t, c.Client.Create(t.Context(), users))
	eventually(t, "ours to give way", func(t *assert.CollectT) {
		assert.Equal(t, []string{ourBudget(workloadcluster.PickerEmbed), "users-own"}, budgetsOf(t, c, models))
		assert.Contains(t, hasEvent(t, c, models, workloadcluster.PickerChat, disruptionbudget.ReasonBudgetExists), "users-own")
	})
	require.NoError(t, c.Client.Delete(t.Context(), users))
	eventually(t, "ours to come back", func(t *assert.CollectT) {
		assert.Equal(t, []string{ourBudget(workloadcluster.PickerChat), ourBudget(workloadcluster.PickerEmbed)}, budgetsOf(t, c, models))
	})
}

func hopelessBudget(t *testing.T, c *workloadcluster.Cluster) {
	scale(t, c, workloadcluster.PickerChat, 1)
	for name, selector := range map[string]map[string]string{
		"hopeless": {"app": workloadcluster.PickerChat},
		"misspelt": {"run": workloadcluster.PickerChat},
	} {
		require.NoError(t, c.Client.Create(t.Context(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: models, Name: name},
			Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: selector}},
		}))
	}
	eventually(t, "the reports", func(t *assert.CollectT) {
		assert.Contains(t, hasEvent(t, c, models, workloadcluster.PickerChat, disruptionbudget.ReasonHopeless), "wants 1 Ready of 1 replicas")
		assert.Contains(t, hasEvent(t, c, models, workloadcluster.PickerChat, disruptionbudget.ReasonSelectsNothing), "misspelt")
	})
	for _, name := range []string{"hopeless", "misspelt"} {
		require.NoError(t, c.Client.Delete(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: models, Name: name}}))
	}
	scale(t, c, workloadcluster.PickerChat, 2)
	spreadOut(t, c)
}

func crashingPicker(t *testing.T, c *workloadcluster.Cluster) {
	pods := &corev1.PodList{}
	require.NoError(t, c.Client.List(t.Context(), pods, client.InNamespace(models), client.MatchingLabels{"app": workloadcluster.PickerChat}))
	require.Len(t, pods.Items, 2)
	crashing := &pods.Items[0]
	require.NoError(t, c.Client.Patch(t.Context(), crashing, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"play.evenkeel.io/as":"crash"}}}`))))
	eventually(t, "it to crash", func(t *assert.CollectT) {
		assert.EqualValues(t, 1, getDeployment(t, c, models, workloadcluster.PickerChat).Status.ReadyReplicas)
	})
	prober, err := c.Probe(t.Context(), types.NamespacedName{Namespace: models, Name: workloadcluster.PickerChat})
	require.NoError(t, err)
	require.NoError(t, c.Cordon(t.Context(), crashing.Spec.NodeName, true))
	require.NoError(t, c.Drain(t.Context(), crashing.Spec.NodeName, workloadcluster.Patience, false))
	require.NoError(t, c.Cordon(t.Context(), crashing.Spec.NodeName, false))
	spreadOut(t, c)
	assert.Equal(t, []int{0}, workloadcluster.Down(prober.Stop()))
}

func optOut(t *testing.T, c *workloadcluster.Cluster) {
	patchDeployment(t, c, workloadcluster.PickerEmbed, `{"metadata":{"annotations":{"evenkeel.io/serving-path":"off"}}}`)
	require.NoError(t, c.ApplyPickers(t.Context()))
	eventually(t, "the budget to go", func(t *assert.CollectT) {
		assert.Equal(t, []string{ourBudget(workloadcluster.PickerChat)}, budgetsOf(t, c, models))
	})
	assert.EqualValues(t, 1, *getDeployment(t, c, models, workloadcluster.PickerEmbed).Spec.Replicas, "the provider's word holds again")
	patchDeployment(t, c, workloadcluster.PickerEmbed, `{"metadata":{"annotations":{"evenkeel.io/serving-path":null}}}`)
	spreadOut(t, c)
}

func webhookDown(t *testing.T, c *workloadcluster.Cluster) {
	require.NoError(t, c.StopManager())
	require.NoError(t, c.ApplyPickers(t.Context()), "nothing may be refused")
	assert.EqualValues(t, 1, *getDeployment(t, c, models, workloadcluster.PickerChat).Spec.Replicas)
	require.NoError(t, c.StartManager())
	eventually(t, "the touch to bring it through admission", func(t *assert.CollectT) {
		assert.EqualValues(t, 2, *getDeployment(t, c, models, workloadcluster.PickerChat).Spec.Replicas)
	})
	spreadOut(t, c)
}

// providerInMaintenance is the incident with Evenkeel, made harder; without Evenkeel the demo plays it.
func providerInMaintenance(t *testing.T, c *workloadcluster.Cluster) {
	engines := engineRestarts(t, c)
	down := maintain(t, c, workloadcluster.Maintenance{After: func(ctx context.Context, node string) error {
		return c.ApplyPickers(ctx)
	}})
	assert.Equal(t, make([]int, len(down)), down)
	spreadOut(t, c)
	assert.Equal(t, engines, engineRestarts(t, c), "engines must not be touched")
}

// TestFallback is for drainers that ignore budgets, and for clusters whose system nodes all go at once.
func TestFallback(t *testing.T) {
	t.Parallel() // it waits for most of the time
	c := start(t, workloadcluster.Options{})
	require.NoError(t, c.InstallEvenkeel(t.Context(), map[string]any{"fallback": map[string]any{"mode": "GPUNodes"}}))
	eventually(t, "the pickers and proxies on both system nodes", func(t *assert.CollectT) {
		for _, w := range [][3]string{{models, "app", workloadcluster.PickerChat}, {workloadcluster.NamespaceProxies, "app.kubernetes.io/name", "envoy"}} {
			assert.ElementsMatch(t, []string{workloadcluster.SystemA, workloadcluster.SystemB}, nodesOf(t, c, w[0], w[1], w[2]), w[2])
		}
	})
	require.NoError(t, c.AwaitAvailable(t.Context()))

	t.Run("a drain that deletes after its timeout", func(t *testing.T) {
		_ = maintain(t, c, workloadcluster.Maintenance{DrainTimeout: time.Second, Force: true})
		requireNothingPending(t, c)
		broughtBack(t, c)
	})
	t.Run("both system nodes deleted at once", func(t *testing.T) {
		prober, err := c.Probe(t.Context(), workloadcluster.ServingServices()[:3]...)
		require.NoError(t, err)
		for _, name := range []string{workloadcluster.SystemA, workloadcluster.SystemB} {
			require.NoError(t, c.Client.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
			pods := &corev1.PodList{}
			require.NoError(t, c.Client.List(t.Context(), pods, client.MatchingFields{"spec.nodeName": name}))
			for i := range pods.Items { // the machine is gone; the pod collector would notice in its own time
				require.NoError(t, client.IgnoreNotFound(c.Client.Delete(t.Context(), &pods.Items[i], client.GracePeriodSeconds(0))))
			}
		}
		eventually(t, "the pickers and proxies on GPU nodes", func(t *assert.CollectT) {
			for i, ready := range lastSample(prober).Ready {
				assert.Positive(t, ready, fmt.Sprint(i))
			}
			for _, node := range nodesOf(t, c, models, "app", workloadcluster.PickerChat) {
				assert.Contains(t, []string{workloadcluster.GPUA, workloadcluster.GPUB}, node)
			}
		})
		prober.Stop()
		requireNothingPending(t, c)
		for _, name := range []string{workloadcluster.SystemA, workloadcluster.SystemB} {
			require.NoError(t, c.AddSystemNode(t.Context(), name))
		}
		broughtBack(t, c)
	})
}

func lastSample(p *workloadcluster.Prober) workloadcluster.Sample {
	samples := p.Samples()
	return samples[len(samples)-1]
}

// requireNothingPending makes sure that every pod that may fall back has a node.
func requireNothingPending(t *testing.T, c *workloadcluster.Cluster) {
	t.Helper()
	eventually(t, "no picker or proxy Pending", func(t *assert.CollectT) {
		for _, namespace := range []string{models, workloadcluster.NamespaceProxies} {
			pods := &corev1.PodList{}
			require.NoError(t, c.Client.List(context.Background(), pods, client.InNamespace(namespace)))
			for i := range pods.Items {
				assert.NotEqual(t, corev1.PodPending, pods.Items[i].Status.Phase, pods.Items[i].Name)
			}
		}
	})
}

// broughtBack waits until no replica is left on a GPU node.
func broughtBack(t *testing.T, c *workloadcluster.Cluster) {
	t.Helper()
	eventually(t, "the replicas back on the system nodes", func(t *assert.CollectT) {
		for _, w := range [][3]string{{models, "app", workloadcluster.PickerChat}, {models, "app", workloadcluster.PickerEmbed}, {workloadcluster.NamespaceProxies, "app.kubernetes.io/name", "envoy"}} {
			assert.ElementsMatch(t, []string{workloadcluster.SystemA, workloadcluster.SystemB}, nodesOf(t, c, w[0], w[1], w[2]), w[2])
		}
	})
}

// TestOneSystemNode is the smallest pool: both replicas run on the one node, a drain waits and nothing is lost.
func TestOneSystemNode(t *testing.T) {
	t.Parallel() // it waits for most of the time
	c := start(t, workloadcluster.Options{SystemNodes: []string{workloadcluster.SystemA}})
	require.NoError(t, c.InstallEvenkeel(t.Context(), nil))
	both := []string{workloadcluster.SystemA, workloadcluster.SystemA}
	eventually(t, "two replicas on the one node", func(t *assert.CollectT) {
		assert.Equal(t, both, nodesOf(t, c, models, "app", workloadcluster.PickerChat))
		assert.Equal(t, both, nodesOf(t, c, workloadcluster.NamespaceProxies, "app.kubernetes.io/name", "envoy"))
	})
	require.NoError(t, c.AwaitAvailable(t.Context()))
	prober, err := c.Probe(t.Context(), workloadcluster.ServingServices()...)
	require.NoError(t, err)
	require.NoError(t, c.Cordon(t.Context(), workloadcluster.SystemA, true))
	require.Error(t, c.Drain(t.Context(), workloadcluster.SystemA, 3*time.Second, false), "one of each must stay")

	// A second node lets it end, and the replicas that are left move on in order.
	require.NoError(t, c.AddSystemNode(t.Context(), workloadcluster.SystemB))
	require.NoError(t, c.Drain(t.Context(), workloadcluster.SystemA, workloadcluster.Patience, false))
	down := workloadcluster.Down(prober.Stop())
	assert.Equal(t, make([]int, len(down)), down)
}

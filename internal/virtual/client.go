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

package virtual

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
)

// Client is the clientset that a scheduler gets. What it does to translated Pods becomes a status write on their
// placements; everything else goes to the hub as it is.
type Client struct {
	kubernetes.Interface
	writer *writer
}

// NewClient makes a Client. The lister is the one of the translated Pods.
func NewClient(client kubernetes.Interface, hub *Hub, pods listersv1.PodLister) *Client {
	return &Client{Interface: client, writer: &writer{client: hub.evenkeel, pods: pods}}
}

// Writer returns what the scheduler's binding plugin writes with.
func (c *Client) Writer() PlacementWriter {
	return c.writer
}

// CoreV1 returns the core client with translated Pods.
func (c *Client) CoreV1() clientcorev1.CoreV1Interface {
	return &coreClient{CoreV1Interface: c.Interface.CoreV1(), writer: c.writer}
}

type coreClient struct {
	clientcorev1.CoreV1Interface
	writer *writer
}

func (c *coreClient) Pods(namespace string) clientcorev1.PodInterface {
	return &podClient{PodInterface: c.CoreV1Interface.Pods(namespace), writer: c.writer, namespace: namespace}
}

// podClient has the three calls that the scheduler makes.
type podClient struct {
	clientcorev1.PodInterface
	writer    *writer
	namespace string
}

// Bind refuses: a binding names a node, and an assignment names pools as well.
func (c *podClient) Bind(_ context.Context, binding *corev1.Binding, _ metav1.CreateOptions) error {
	return fmt.Errorf("cannot bind ReplicaPlacement %s/%s to InferenceCluster %q: a binding cannot name node pools; "+
		"enable the plugin PlacementBinder, and no other binding plugin, in the scheduler's profile",
		c.namespace, binding.Name, binding.Target.Name)
}

// Delete asks the victim of a preemption to leave: its placement names the preemptor, and the manager moves it. It refuses
// where the context does not say for whom (WithPreemptor), since nobody could tell when the preemption has lapsed.
func (c *podClient) Delete(ctx context.Context, name string, _ metav1.DeleteOptions) error {
	preemptor := preemptorOf(ctx)
	if preemptor == nil {
		return fmt.Errorf("cannot preempt ReplicaPlacement %s/%s: the hub scheduler does not delete placements; "+
			"disable the plugin that preempts (DefaultPreemption) in the scheduler's profile", c.namespace, name)
	}
	victim, err := c.writer.pods.Pods(c.namespace).Get(name)
	if err != nil {
		return err
	}
	if err := c.writer.preempt(ctx, victim, preemptor); err != nil {
		return fmt.Errorf("preempt ReplicaPlacement %s/%s for %s/%s: %w", c.namespace, name, preemptor.Namespace, preemptor.Name, err)
	}
	return nil
}

// Patch translates a status patch into one status write, and makes none when nothing would change in the placement.
func (c *podClient) Patch(ctx context.Context, name string, patchType types.PatchType, data []byte, _ metav1.PatchOptions, subresources ...string) (*corev1.Pod, error) {
	if patchType != types.StrategicMergePatchType || !slices.Equal(subresources, []string{"status"}) {
		return nil, fmt.Errorf("cannot patch ReplicaPlacement %s/%s: only strategic merge patches of a Pod's status are translated, got %s of %q",
			c.namespace, name, patchType, subresources)
	}
	pod, err := c.writer.pods.Pods(c.namespace).Get(name)
	if err != nil {
		return nil, err
	}
	status, err := patchedStatus(&pod.Status, data)
	if err != nil {
		return nil, fmt.Errorf("patch the status of ReplicaPlacement %s/%s: %w", c.namespace, name, err)
	}
	if err := c.writer.writeStatus(ctx, pod, status); err != nil {
		return nil, fmt.Errorf("patch the status of ReplicaPlacement %s/%s: %w", c.namespace, name, err)
	}
	return pod, nil
}

func patchedStatus(status *corev1.PodStatus, patch []byte) (*corev1.PodStatus, error) {
	original, err := json.Marshal(corev1.Pod{Status: *status})
	if err != nil {
		return nil, err
	}
	patched, err := strategicpatch.StrategicMergePatch(original, patch, corev1.Pod{})
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(patched, pod); err != nil {
		return nil, err
	}
	return &pod.Status, nil
}

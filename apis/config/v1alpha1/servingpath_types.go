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

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ServingPathConfiguration is the configuration file of workload-manager: what stands on the path of a request on this
// cluster, and what each of it should have so that the maintenance of a node interrupts nothing.
// +kubebuilder:object:root=true
type ServingPathConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	// ClientConnection to the cluster's API server. 50 requests a second and bursts of 100 when absent.
	// +optional
	ClientConnection ClientConnection `json:"clientConnection,omitempty"`
	// LeaderElection among several managers. Webhooks answer on all of them, controllers work on one. The lease is
	// called "evenkeel-workload-manager" when absent.
	// +optional
	LeaderElection LeaderElection `json:"leaderElection,omitempty"`
	// HealthBindAddress serves /healthz and /readyz; "0" serves neither. ":8081" when absent.
	// +optional
	HealthBindAddress string `json:"healthBindAddress,omitempty"`
	// MetricsBindAddress serves /metrics; "0" does not. ":8080" when absent.
	// +optional
	MetricsBindAddress string `json:"metricsBindAddress,omitempty"`
	// Webhooks says where the webhook is served and by which names the API server finds it. The selectors and match
	// conditions of the MutatingWebhookConfiguration are kept in step with the components.
	// +optional
	Webhooks WebhookServer `json:"webhooks,omitempty"`
	// Installers are the field managers, "*" standing for any text, that merely carry out what some chart or
	// composition says. What anybody else has set is a person's word and stays.
	// +optional
	Installers []string `json:"installers,omitempty"`
	// Fallback says where replicas may go when no system node takes them.
	// +optional
	Fallback ServingPathFallback `json:"fallback,omitempty"`
	// Touch paces the bringing of existing objects through admission.
	// +optional
	Touch ServingPathTouch `json:"touch,omitempty"`
	// Rebalance paces the moving apart of replicas that share a node.
	// +optional
	Rebalance ServingPathRebalance `json:"rebalance,omitempty"`
	// Components are tried in this order; the first that matches an object is the one. The shipped list when absent.
	// +optional
	Components []ServingPathComponent `json:"components,omitempty"`
	// AdditionalComponents are tried before Components. One with the name of a component replaces it.
	// +optional
	AdditionalComponents []ServingPathComponent `json:"additionalComponents,omitempty"`
}

// FallbackMode says where replicas may go when no system node takes them.
// +kubebuilder:validation:Enum=None;GPUNodes
type FallbackMode string

const (
	// FallbackNone leaves replicas Pending.
	FallbackNone FallbackMode = "None"
	// FallbackGPUNodes lets replicas run on nodes with the taints of engines, while system nodes are preferred.
	FallbackGPUNodes FallbackMode = "GPUNodes"
)

// ServingPathFallback is stamped into pods beforehand, so that nothing has to be decided during an incident.
type ServingPathFallback struct {
	// Mode for every component that has a spread and does not say otherwise. "None" when absent.
	// +optional
	Mode FallbackMode `json:"mode,omitempty"`
	// Tolerations are added. They also tell which nodes are fallback nodes: those with a taint that one of these
	// tolerates. Taint nvidia.com/gpu with effect NoSchedule when absent.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// SystemNodes are the preferences by which system nodes win while they take pods. Nodes of pool "system", then
	// nodes that are not labelled as having a GPU, when absent.
	// +optional
	SystemNodes []corev1.PreferredSchedulingTerm `json:"systemNodes,omitempty"`
}

// ServingPathTouch paces writes that change nothing by themselves: admission fills in what is missing.
type ServingPathTouch struct {
	// Interval between two objects. 1s when absent.
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`
}

// ServingPathRebalance paces evictions. There is never more than one at a time on a cluster.
type ServingPathRebalance struct {
	// SettleTime is how long replicas must have shared a node, all Ready, before one is evicted. 30s when absent.
	// +optional
	SettleTime *metav1.Duration `json:"settleTime,omitempty"`
	// Backoff after a refused or fruitless eviction; it doubles up to twenty times as long. 1m when absent.
	// +optional
	Backoff *metav1.Duration `json:"backoff,omitempty"`
	// Timeout is how long one move may take before the next may start. 5m when absent.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// ComponentKind is a kind of object that a component can match.
// +kubebuilder:validation:Enum=Deployment;EnvoyProxy;Pod
type ComponentKind string

const (
	// ComponentDeployment is apps/v1 Deployment.
	ComponentDeployment ComponentKind = "Deployment"
	// ComponentEnvoyProxy is gateway.envoyproxy.io/v1alpha1 EnvoyProxy: the settings of a gateway's Deployment.
	ComponentEnvoyProxy ComponentKind = "EnvoyProxy"
	// ComponentPod is for pods whose owner cannot be reached, such as one that a cloud's add-on manager puts back.
	ComponentPod ComponentKind = "Pod"
)

// ServingPathComponent is one part of the serving path and what it should have. What is absent here is left alone.
type ServingPathComponent struct {
	// Name is unique.
	Name string `json:"name"`
	// Enabled switches the component on. True when absent.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Match says which objects these are.
	Match ComponentMatch `json:"match"`
	// OnRequestPath tells that requests fail while no replica is Ready.
	// +optional
	OnRequestPath bool `json:"onRequestPath,omitempty"`
	// RecoveryDependency tells that pods on the request path cannot be made anew while no replica is Ready.
	// +optional
	RecoveryDependency bool `json:"recoveryDependency,omitempty"`
	// Single tells that there must not be two replicas: nothing is filled in, and no budget blocks its drain.
	// +optional
	Single bool `json:"single,omitempty"`
	// LeaderGated tells that only a leader becomes Ready: a budget would never allow its eviction, so there is none.
	// +optional
	LeaderGated bool `json:"leaderGated,omitempty"`
	// MinReplicas is what one replica is raised to. Replicas are left alone when absent.
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// Spread over nodes and zones.
	// +optional
	Spread *ComponentSpread `json:"spread,omitempty"`
	// Budget against evictions.
	// +optional
	Budget *ComponentBudget `json:"budget,omitempty"`
	// Containers get probes.
	// +optional
	Containers []ComponentContainer `json:"containers,omitempty"`
	// Rollout settings of a Deployment.
	// +optional
	Rollout *ComponentRollout `json:"rollout,omitempty"`
	// Rebalance moves Ready replicas apart that share a node, and fallback replicas back. True when absent.
	// +optional
	Rebalance *bool `json:"rebalance,omitempty"`
	// Fallback overrides the configuration's mode.
	// +optional
	Fallback FallbackMode `json:"fallback,omitempty"`
}

// ComponentMatch says which objects a component means. All that is given must hold.
type ComponentMatch struct {
	// Kinds, at least one.
	Kinds []ComponentKind `json:"kinds"`
	// Namespaces, in which "*" stands for any text. At least one.
	Namespaces []string `json:"namespaces"`
	// NamespaceLabel is a label that those namespaces carry which only a pattern matches. It spares the API server a look
	// at the objects of all other namespaces: the webhook is not called where it is missing. Any namespace may be meant
	// when absent.
	// +optional
	NamespaceLabel string `json:"namespaceLabel,omitempty"`
	// Labels of the object.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Expression is CEL over "object", for what labels cannot say. An error of it is no match.
	// +optional
	Expression string `json:"expression,omitempty"`
}

// ComponentSpread is a topology spread constraint for each key. It honours taints and counts one revision's pods.
type ComponentSpread struct {
	// TopologyKeys are node labels, at least one.
	TopologyKeys []string `json:"topologyKeys"`
	// WhenUnsatisfiable is ScheduleAnyway or DoNotSchedule. "ScheduleAnyway" when absent: a pool of one node must still
	// take both replicas.
	// +optional
	WhenUnsatisfiable corev1.UnsatisfiableConstraintAction `json:"whenUnsatisfiable,omitempty"`
}

// ComponentBudget is a PodDisruptionBudget that evicts pods that are not Ready always.
type ComponentBudget struct {
	// MaxUnavailable is how many replicas may be evicted at a time, at least 1. 1 when absent.
	// +optional
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// ComponentContainer is what a container of a Deployment should have.
type ComponentContainer struct {
	// Name of the container.
	Name string `json:"name"`
	// ReadinessProbe where the container has none.
	// +optional
	ReadinessProbe *corev1.Probe `json:"readinessProbe,omitempty"`
	// LivenessProbe where the container has none.
	// +optional
	LivenessProbe *corev1.Probe `json:"livenessProbe,omitempty"`
}

// ComponentRollout replaces the API server's defaults of a rolling update.
type ComponentRollout struct {
	// MaxUnavailable while rolling out.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// MaxSurge while rolling out.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
}

func init() {
	SchemeBuilder.Register(addServingPathConfiguration)
}

func addServingPathConfiguration(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ServingPathConfiguration{})
	scheme.AddTypeDefaultingFunc(&ServingPathConfiguration{}, func(obj any) {
		SetDefaultsServingPathConfiguration(obj.(*ServingPathConfiguration))
	})
	return nil
}

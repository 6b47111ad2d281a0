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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// HubManagerConfiguration is the configuration file of hub-manager.
// +kubebuilder:object:root=true
type HubManagerConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	// ClientConnection to the hub's API server.
	// +optional
	ClientConnection ClientConnection `json:"clientConnection,omitempty"`
	// LeaderElection among several managers.
	// +optional
	LeaderElection LeaderElection `json:"leaderElection,omitempty"`
	// HealthBindAddress serves /healthz and /readyz; "0" serves neither. ":8081" when absent.
	// +optional
	HealthBindAddress string `json:"healthBindAddress,omitempty"`
	// MetricsBindAddress serves /metrics; "0" does not. ":8080" when absent.
	// +optional
	MetricsBindAddress string `json:"metricsBindAddress,omitempty"`
	// ModelDeployments configures the controller that keeps their replicas.
	// +optional
	ModelDeployments ModelDeploymentController `json:"modelDeployments,omitempty"`
	// InferenceClusters configures the controller that reports how drains stand.
	// +optional
	InferenceClusters InferenceClusterController `json:"inferenceClusters,omitempty"`
	// Webhooks configures the admission webhooks.
	// +optional
	Webhooks HubWebhooks `json:"webhooks,omitempty"`
	// TrafficMap configures the controllers that write TrafficMaps and publish them.
	// +optional
	TrafficMap TrafficMapController `json:"trafficMap,omitempty"`
}

// ClientConnection bounds what a program asks of the API server.
type ClientConnection struct {
	// QPS is how many requests a second are made on average; a negative number means as many as there are. 1000 when
	// absent.
	// +optional
	QPS *float32 `json:"qps,omitempty"`
	// Burst is how many requests may be made at once. 2000 when absent.
	// +optional
	Burst *int32 `json:"burst,omitempty"`
}

// LeaderElection lets one of several programs work and the others wait.
type LeaderElection struct {
	// LeaderElect switches the election on; without it there must be one program only. True when absent.
	// +optional
	LeaderElect *bool `json:"leaderElect,omitempty"`
	// ResourceNamespace of the lease. "evenkeel-system" when absent.
	// +optional
	ResourceNamespace string `json:"resourceNamespace,omitempty"`
	// ResourceName of the lease. "evenkeel-hub-manager" when absent.
	// +optional
	ResourceName string `json:"resourceName,omitempty"`
	// LeaseDuration is how long the others wait for a leader that does not answer. 15s when absent.
	// +optional
	LeaseDuration metav1.Duration `json:"leaseDuration,omitempty"`
	// RenewDeadline is how long a leader goes on without reaching the API server. 10s when absent.
	// +optional
	RenewDeadline metav1.Duration `json:"renewDeadline,omitempty"`
	// RetryPeriod is the pause between two tries. 2s when absent.
	// +optional
	RetryPeriod metav1.Duration `json:"retryPeriod,omitempty"`
}

// ModelDeploymentController configures the controller that keeps the replicas of ModelDeployments.
type ModelDeploymentController struct {
	// SchedulerNames are the scheduler names for which this manager acts. ["evenkeel"] when absent.
	// +optional
	SchedulerNames []string `json:"schedulerNames,omitempty"`
	// OwnCompositions are Crossplane compositions that leave the replicas to this manager. A deployment that names
	// any other composition is left alone.
	// +optional
	OwnCompositions []string `json:"ownCompositions,omitempty"`
	// MaxConcurrentReconciles is how many deployments are looked at at once. 8 when absent.
	// +optional
	MaxConcurrentReconciles *int32 `json:"maxConcurrentReconciles,omitempty"`
	// SettleTime is how long a cluster must be Ready and a lost pool, selector or cluster stay lost before a replica
	// leaves for it. 5m when absent.
	// +optional
	SettleTime *metav1.Duration `json:"settleTime,omitempty"`
	// Disruption is what moves keep to where no DisruptionPolicy of a deployment says otherwise. When absent: one
	// replica of a deployment at a time (maxUnavailable 1), strategy Recreate, whenUnplaceable Evict, readyTimeout 10m,
	// trafficGracePeriod 90s, requestGracePeriod 10s, not paused.
	// +optional
	Disruption evenkeel.DisruptionSettings `json:"disruption,omitempty"`
	// MaxParallelMoves is how many replicas of the whole fleet may be on the move at a time; 0 sets no limit. 50 when
	// absent.
	// +optional
	MaxParallelMoves *int32 `json:"maxParallelMoves,omitempty"`
	// MaxLoadingPerCluster is how many replicas that move may load on one cluster at a time; 0 sets no limit. 10 when
	// absent.
	// +optional
	MaxLoadingPerCluster *int32 `json:"maxLoadingPerCluster,omitempty"`
	// StepEvents has each step of a move told in an event on its ReplicaPlacement, which costs five to seven more writes a
	// move. False when absent: then events tell the beginning and the end of moves, and what goes wrong.
	// +optional
	StepEvents bool `json:"stepEvents,omitempty"`
	// DegradedAfter is how long a cluster may not be Ready before replicas leave it; 0, as when absent, means for ever.
	// +optional
	DegradedAfter *metav1.Duration `json:"degradedAfter,omitempty"`
	// TTLAfterFinished is how long a finished ReplicaPlacement is kept. 24h when absent.
	// +optional
	TTLAfterFinished *metav1.Duration `json:"ttlAfterFinished,omitempty"`
	// HistoryLimit is how many finished ReplicaPlacements of one deployment are kept. 10 when absent.
	// +optional
	HistoryLimit *int32 `json:"historyLimit,omitempty"`
	// VerdictTimeout is how long the scheduler may leave a placement unanswered before the deployment says so. 1m when
	// absent.
	// +optional
	VerdictTimeout *metav1.Duration `json:"verdictTimeout,omitempty"`
}

// InferenceClusterController configures the controller that reports how drains stand.
type InferenceClusterController struct {
	// StuckAfter is how long no replica may leave a cluster that is being drained until an event says so, and again
	// after each such time. 10m when absent.
	// +optional
	StuckAfter *metav1.Duration `json:"stuckAfter,omitempty"`
}

func init() {
	SchemeBuilder.Register(addHubManagerConfiguration)
}

func addHubManagerConfiguration(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &HubManagerConfiguration{})
	scheme.AddTypeDefaultingFunc(&HubManagerConfiguration{}, func(obj any) {
		SetDefaultsHubManagerConfiguration(obj.(*HubManagerConfiguration))
	})
	return nil
}

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

package replicas

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// CacheState is what is known of the ModelCache that a deployment names.
type CacheState int

const (
	// CacheNone is a deployment that names no cache.
	CacheNone CacheState = iota
	// CacheUnresolved is a cache that was not looked up yet, or that the hub does not serve.
	CacheUnresolved
	// CacheMissing is a cache that does not exist.
	CacheMissing
	// CacheResolved is a cache that exists.
	CacheResolved
)

// Cluster is an InferenceCluster and its pools, prepared for matching.
type Cluster struct {
	*modelplane.InferenceCluster
	Pools *placement.Pools
}

// Priority is what a deployment's priority class says.
type Priority struct {
	// ClassName of the class, empty without one.
	ClassName string
	// Missing tells that no such class exists. Nothing is placed then.
	Missing bool
	// Value of the class.
	Value *int32
	// PreemptionPolicy of the class.
	PreemptionPolicy *corev1.PreemptionPolicy
}

// Observation is all that Decide looks at. Objects are not changed, and may be shared with a cache.
type Observation struct {
	// Deployment to decide for.
	Deployment *modelplane.ModelDeployment
	// SchedulerName of the deployment, from its template or annotation.
	SchedulerName string
	// Priority of the deployment, from its template or annotation.
	Priority Priority
	// Composed tells that Crossplane composes the deployment, so that it owns its condition Ready.
	Composed bool
	// CacheState of the ModelCache that the deployment names.
	CacheState CacheState
	// CacheSelector is the clusterSelector of that cache.
	CacheSelector *modelplane.LabelSelector
	// Placements in the deployment's namespace that carry its name, whoever owns them.
	Placements []*evenkeel.ReplicaPlacement
	// Preemptors are the placements, of any deployment, that this one's placements are said to be preempted by, as far as
	// they exist.
	Preemptors []*evenkeel.ReplicaPlacement
	// Replicas in the deployment's namespace that carry its name as label or that have a name it could use.
	Replicas []*modelplane.ModelReplica
	// Endpoints in the deployment's namespace that carry its name as label or that have a name it could use.
	Endpoints []*modelplane.ModelEndpoint
	// Clusters, all of them.
	Clusters []Cluster
	// Matcher of engines to pools.
	Matcher *placement.Matcher
	// Policy that moves keep to.
	Policy Policy
	// Traffic is what is known of the ways to the replicas, nil on a hub without ModelServices or HTTPRoutes.
	Traffic *Traffic
	// Fleet is what the rest of the fleet leaves to this deployment.
	Fleet Fleet
	// Settings of the manager.
	Settings Settings
	// Now is the time at which the rest was observed.
	Now time.Time
}

// Settings are what the manager's configuration says about all deployments.
type Settings struct {
	// SettleTime is how long a cause that may be a passing fault must last, with the cluster Ready.
	SettleTime time.Duration
	// HistoryTTL is how long a finished placement is kept.
	HistoryTTL time.Duration
	// HistoryLimit is how many finished placements of one deployment are kept.
	HistoryLimit int
	// VerdictTimeout is how long the scheduler may take before people are told that it has not answered.
	VerdictTimeout time.Duration
	// RejectionBackoff is the pause after a first refusal of a ModelReplica; it doubles with each further one.
	RejectionBackoff time.Duration
	// RejectionRetry bounds that pause, and is when clusters excluded for a refusal are tried again.
	RejectionRetry time.Duration
	// RollbackBackoff is the pause after a first replacement that did not serve and was taken back; it doubles with each
	// further one.
	RollbackBackoff time.Duration
	// RollbackRetry bounds that pause.
	RollbackRetry time.Duration
	// DegradedAfter is how long a cluster may not be ready before replicas leave it; zero means for ever.
	DegradedAfter time.Duration
}

// DefaultSettings are those of a manager that is not configured.
func DefaultSettings() Settings {
	return Settings{
		SettleTime:       5 * time.Minute,
		HistoryTTL:       24 * time.Hour,
		HistoryLimit:     10,
		VerdictTimeout:   time.Minute,
		RejectionBackoff: 10 * time.Second,
		RejectionRetry:   5 * time.Minute,
		RollbackBackoff:  time.Minute,
		RollbackRetry:    30 * time.Minute,
	}
}

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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// SetDefaultsHubManagerConfiguration fills in what is absent.
func SetDefaultsHubManagerConfiguration(c *HubManagerConfiguration) {
	setDefault(&c.ClientConnection.QPS, 1000)
	setDefault(&c.ClientConnection.Burst, 2000)
	setDefaultValue(&c.HealthBindAddress, ":8081")
	setDefaultValue(&c.MetricsBindAddress, ":8080")
	setDefaultsLeaderElection(&c.LeaderElection)
	setDefaultsModelDeploymentController(&c.ModelDeployments)
	setDefault(&c.InferenceClusters.StuckAfter, metav1.Duration{Duration: 10 * time.Minute})
	setDefaultsHubWebhooks(&c.Webhooks)
	setDefaultsTrafficMapController(&c.TrafficMap)
}

func setDefaultsLeaderElection(e *LeaderElection) {
	setDefault(&e.LeaderElect, true)
	setDefaultValue(&e.ResourceNamespace, "evenkeel-system")
	setDefaultValue(&e.ResourceName, "evenkeel-hub-manager")
	setDefaultValue(&e.LeaseDuration, metav1.Duration{Duration: 15 * time.Second})
	setDefaultValue(&e.RenewDeadline, metav1.Duration{Duration: 10 * time.Second})
	setDefaultValue(&e.RetryPeriod, metav1.Duration{Duration: 2 * time.Second})
}

func setDefaultsModelDeploymentController(c *ModelDeploymentController) {
	if c.SchedulerNames == nil {
		c.SchedulerNames = []string{"evenkeel"}
	}
	setDefault(&c.MaxConcurrentReconciles, 8)
	setDefault(&c.SettleTime, metav1.Duration{Duration: 5 * time.Minute})
	setDefaultsDisruption(&c.Disruption)
	setDefault(&c.MaxParallelMoves, 50)
	setDefault(&c.MaxLoadingPerCluster, 10)
	setDefault(&c.DegradedAfter, metav1.Duration{})
	setDefault(&c.TTLAfterFinished, metav1.Duration{Duration: 24 * time.Hour})
	setDefault(&c.HistoryLimit, 10)
	setDefault(&c.VerdictTimeout, metav1.Duration{Duration: time.Minute})
}

func setDefaultsDisruption(d *evenkeel.DisruptionSettings) {
	setDefault(&d.MaxUnavailable, intstr.FromInt32(1))
	setDefaultValue(&d.Strategy, evenkeel.StrategyRecreate)
	setDefaultValue(&d.WhenUnplaceable, evenkeel.WhenUnplaceableEvict)
	setDefault(&d.ReadyTimeout, metav1.Duration{Duration: 10 * time.Minute})
	setDefault(&d.TrafficGracePeriod, metav1.Duration{Duration: 90 * time.Second})
	setDefault(&d.RequestGracePeriod, metav1.Duration{Duration: 10 * time.Second})
	setDefault(&d.Paused, false)
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func setDefaultValue[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

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

package managercommand

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
)

// shutdownTimeout bounds how long what runs may take to finish before the lease is released.
const shutdownTimeout = 15 * time.Second

// ManagerOptions are the options that every manager's file has.
func ManagerOptions(scheme *runtime.Scheme, election *configapi.LeaderElection, healthBindAddress, metricsBindAddress string) ctrl.Options {
	return ctrl.Options{
		Scheme:                        scheme,
		HealthProbeBindAddress:        healthBindAddress,
		Metrics:                       metricsserver.Options{BindAddress: metricsBindAddress},
		LeaderElection:                *election.LeaderElect,
		LeaderElectionID:              election.ResourceName,
		LeaderElectionNamespace:       election.ResourceNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &election.LeaseDuration.Duration,
		RenewDeadline:                 &election.RenewDeadline.Duration,
		RetryPeriod:                   &election.RetryPeriod.Duration,
		GracefulShutdownTimeout:       ptr.To(shutdownTimeout),
	}
}

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
	"fmt"
	"net"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

const maxConcurrentReconciles = 1000

// DecodeHubManagerConfiguration reads the manager's file; no bytes give the defaults. The result is defaulted and valid;
// an error names the field.
func DecodeHubManagerConfiguration(data []byte) (*HubManagerConfiguration, error) {
	return decodeFile(data, &HubManagerConfiguration{}, "HubManagerConfiguration", SetDefaultsHubManagerConfiguration, ValidateHubManagerConfiguration)
}

// ValidateHubManagerConfiguration tells which fields of a defaulted configuration have values that they cannot have.
func ValidateHubManagerConfiguration(c *HubManagerConfiguration) field.ErrorList {
	errs := validateManager(&c.ClientConnection, &c.LeaderElection, c.HealthBindAddress, c.MetricsBindAddress)
	errs = append(errs, validateInferenceClusterController(field.NewPath("inferenceClusters"), &c.InferenceClusters)...)
	errs = append(errs, validateHubWebhooks(field.NewPath("webhooks"), &c.Webhooks)...)
	errs = append(errs, validateTrafficMapController(field.NewPath("trafficMap"), &c.TrafficMap)...)
	return append(errs, validateModelDeploymentController(field.NewPath("modelDeployments"), &c.ModelDeployments)...)
}

func validateInferenceClusterController(path *field.Path, c *InferenceClusterController) field.ErrorList {
	if c.StuckAfter.Duration < time.Second {
		return field.ErrorList{field.Invalid(path.Child("stuckAfter"), c.StuckAfter.String(), "must be at least 1s")}
	}
	return nil
}

func validateAddress(path *field.Path, address string) field.ErrorList {
	if address == NoAddress {
		return nil
	}
	if _, port, err := net.SplitHostPort(address); err != nil {
		return field.ErrorList{field.Invalid(path, address, "must be host:port, :port, or 0 to serve nothing")}
	} else if _, err := net.LookupPort("tcp", port); err != nil {
		return field.ErrorList{field.Invalid(path, address, "must end in a port from 0 to 65535")}
	}
	return nil
}

func validateLeaderElection(path *field.Path, e *LeaderElection) field.ErrorList {
	var errs field.ErrorList
	for _, message := range validation.IsDNS1123Label(e.ResourceNamespace) {
		errs = append(errs, field.Invalid(path.Child("resourceNamespace"), e.ResourceNamespace, message))
	}
	for _, message := range validation.IsDNS1123Subdomain(e.ResourceName) {
		errs = append(errs, field.Invalid(path.Child("resourceName"), e.ResourceName, message))
	}
	if e.RetryPeriod.Duration <= 0 {
		errs = append(errs, field.Invalid(path.Child("retryPeriod"), e.RetryPeriod.String(), "must be positive"))
	}
	if e.RenewDeadline.Duration <= e.RetryPeriod.Duration {
		errs = append(errs, field.Invalid(path.Child("renewDeadline"), e.RenewDeadline.String(),
			fmt.Sprintf("must be longer than retryPeriod, which is %s", e.RetryPeriod.Duration)))
	}
	if e.LeaseDuration.Duration <= e.RenewDeadline.Duration {
		errs = append(errs, field.Invalid(path.Child("leaseDuration"), e.LeaseDuration.String(),
			fmt.Sprintf("must be longer than renewDeadline, which is %s", e.RenewDeadline.Duration)))
	}
	return errs
}

func validateModelDeploymentController(path *field.Path, c *ModelDeploymentController) field.ErrorList {
	errs := validateNames(path.Child("schedulerNames"), c.SchedulerNames)
	if len(c.SchedulerNames) == 0 {
		errs = append(errs, field.Required(path.Child("schedulerNames"), "without one the manager would do nothing; leave the field out for the default"))
	}
	errs = append(errs, validateNames(path.Child("ownCompositions"), c.OwnCompositions)...)
	errs = append(errs, atLeast(path.Child("maxConcurrentReconciles"), *c.MaxConcurrentReconciles, 1)...)
	if n := *c.MaxConcurrentReconciles; n > maxConcurrentReconciles {
		errs = append(errs, field.Invalid(path.Child("maxConcurrentReconciles"), n, fmt.Sprintf("must be at most %d", maxConcurrentReconciles)))
	}
	errs = append(errs, atLeast(path.Child("historyLimit"), *c.HistoryLimit, 0)...)
	errs = append(errs, notNegative(path.Child("settleTime"), c.SettleTime)...)
	errs = append(errs, validateDisruption(path.Child("disruption"), &c.Disruption)...)
	errs = append(errs, atLeast(path.Child("maxParallelMoves"), *c.MaxParallelMoves, 0)...)
	errs = append(errs, atLeast(path.Child("maxLoadingPerCluster"), *c.MaxLoadingPerCluster, 0)...)
	errs = append(errs, notNegative(path.Child("degradedAfter"), c.DegradedAfter)...)
	errs = append(errs, notNegative(path.Child("ttlAfterFinished"), c.TTLAfterFinished)...)
	return append(errs, notNegative(path.Child("verdictTimeout"), c.VerdictTimeout)...)
}

func validateDisruption(path *field.Path, d *evenkeel.DisruptionSettings) field.ErrorList {
	var errs field.ErrorList
	if n, err := intstr.GetScaledValueFromIntOrPercent(d.MaxUnavailable, 100, true); err != nil || n < 0 || d.MaxUnavailable.Type == intstr.String && n > 100 {
		errs = append(errs, field.Invalid(path.Child("maxUnavailable"), d.MaxUnavailable.String(), "must be a number that is not negative, or a percentage from 0% to 100%"))
	}
	if strategies := []evenkeel.DisruptionStrategy{evenkeel.StrategyRecreate, evenkeel.StrategyMakeBeforeBreak}; !slices.Contains(strategies, d.Strategy) {
		errs = append(errs, field.NotSupported(path.Child("strategy"), d.Strategy, strategies))
	}
	if policies := []evenkeel.UnplaceablePolicy{evenkeel.WhenUnplaceableEvict, evenkeel.WhenUnplaceableHold}; !slices.Contains(policies, d.WhenUnplaceable) {
		errs = append(errs, field.NotSupported(path.Child("whenUnplaceable"), d.WhenUnplaceable, policies))
	}
	errs = append(errs, notNegative(path.Child("readyTimeout"), d.ReadyTimeout)...)
	errs = append(errs, notNegative(path.Child("trafficGracePeriod"), d.TrafficGracePeriod)...)
	return append(errs, notNegative(path.Child("requestGracePeriod"), d.RequestGracePeriod)...)
}

func validateNames(path *field.Path, names []string) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, name := range names {
		for _, message := range validation.IsDNS1123Subdomain(name) {
			errs = append(errs, field.Invalid(path.Index(i), name, message))
		}
		if seen.Has(name) {
			errs = append(errs, field.Duplicate(path.Index(i), name))
		}
		seen.Insert(name)
	}
	return errs
}

func atLeast(path *field.Path, n, least int32) field.ErrorList {
	if n >= least {
		return nil
	}
	return field.ErrorList{field.Invalid(path, n, fmt.Sprintf("must be at least %d", least))}
}

func notNegative(path *field.Path, d *metav1.Duration) field.ErrorList {
	if d.Duration >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, d.Duration.String(), "must not be negative")}
}

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
	"slices"
	"strings"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// minProbePeriod keeps a probe from being an attack.
const minProbePeriod = time.Second

func validateTrafficMapController(path *field.Path, c *TrafficMapController) field.ErrorList {
	errs := validateLabel(path.Child("omeNamespace"), c.OMENamespace)
	errs = append(errs, atLeast(path.Child("maxConcurrentReconciles"), *c.MaxConcurrentReconciles, 1)...)
	if n := *c.MaxConcurrentReconciles; n > maxConcurrentReconciles {
		errs = append(errs, field.Invalid(path.Child("maxConcurrentReconciles"), n, fmt.Sprintf("must be at most %d", maxConcurrentReconciles)))
	}
	if c.Probe != nil {
		errs = append(errs, validateTrafficMapProbe(path.Child("probe"), c.Probe)...)
	}
	if c.Gateway != nil {
		errs = append(errs, validateTrafficMapGateway(path.Child("gateway"), c.Gateway)...)
	}
	return errs
}

func validateLabel(path *field.Path, value string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range validation.IsDNS1123Label(value) {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}

func validateTrafficMapProbe(path *field.Path, p *TrafficMapProbe) field.ErrorList {
	var errs field.ErrorList
	if !strings.HasPrefix(p.Path, "/") {
		errs = append(errs, field.Invalid(path.Child("path"), p.Path, `must begin with "/"`))
	}
	if methods := []string{"GET", "HEAD", "POST"}; !slices.Contains(methods, p.Method) {
		errs = append(errs, field.NotSupported(path.Child("method"), p.Method, methods))
	}
	errs = append(errs, validateStatuses(path.Child("acceptStatuses"), p.AcceptStatuses)...)
	errs = append(errs, validateStatuses(path.Child("gateStatuses"), p.GateStatuses)...)
	for i, status := range p.GateStatuses {
		at := path.Child("gateStatuses").Index(i)
		if slices.Contains([]int32{401, 403, 429}, status) {
			errs = append(errs, field.Invalid(at, status, "says nothing about the health of a cluster"))
		}
		if slices.Contains(p.AcceptStatuses, status) {
			errs = append(errs, field.Invalid(at, status, "is one of acceptStatuses too"))
		}
	}
	if p.Period.Duration < minProbePeriod {
		errs = append(errs, field.Invalid(path.Child("period"), p.Period.Duration.String(), fmt.Sprintf("must be at least %s", minProbePeriod)))
	}
	if p.Timeout.Duration <= 0 || p.Timeout.Duration >= p.Period.Duration {
		errs = append(errs, field.Invalid(path.Child("timeout"), p.Timeout.Duration.String(),
			fmt.Sprintf("must be positive and shorter than period, which is %s", p.Period.Duration)))
	}
	errs = append(errs, atLeast(path.Child("failureThreshold"), p.FailureThreshold, 1)...)
	errs = append(errs, atLeast(path.Child("successThreshold"), p.SuccessThreshold, 1)...)
	if policies := []string{"PreserveTraffic", "Drain"}; !slices.Contains(policies, p.AllFailedPolicy) {
		errs = append(errs, field.NotSupported(path.Child("allFailedPolicy"), p.AllFailedPolicy, policies))
	}
	return errs
}

func validateStatuses(path *field.Path, statuses []int32) field.ErrorList {
	if len(statuses) == 0 {
		return field.ErrorList{field.Required(path, "name at least one HTTP status")}
	}
	var errs field.ErrorList
	for i, status := range statuses {
		if status < 100 || status > 599 {
			errs = append(errs, field.Invalid(path.Index(i), status, "must be from 100 to 599"))
		}
	}
	return errs
}

func validateTrafficMapGateway(path *field.Path, g *TrafficMapGateway) field.ErrorList {
	errs := validateLabel(path.Child("namespace"), g.Namespace)
	errs = append(errs, validateNames(path.Child("name"), []string{g.Name})...)
	if g.BackendPort < 1 || g.BackendPort > 65535 {
		errs = append(errs, field.Invalid(path.Child("backendPort"), g.BackendPort, "must be from 1 to 65535"))
	}
	if g.RouteNamespace != "" {
		errs = append(errs, validateLabel(path.Child("routeNamespace"), g.RouteNamespace)...)
	}
	if _, err := template.New("host").Parse(g.HostTemplate); err != nil {
		errs = append(errs, field.Invalid(path.Child("hostTemplate"), g.HostTemplate, err.Error()))
	}
	if g.ResyncInterval.Duration < time.Second {
		errs = append(errs, field.Invalid(path.Child("resyncInterval"), g.ResyncInterval.Duration.String(), "must be at least 1s"))
	}
	return errs
}

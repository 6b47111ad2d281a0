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
	pathpkg "path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DecodeServingPathConfiguration reads workload-manager's file; no bytes give the defaults. The result is defaulted and
// valid but for its expressions, which those who evaluate them compile; an error names the field.
func DecodeServingPathConfiguration(data []byte) (*ServingPathConfiguration, error) {
	return decodeFile(data, &ServingPathConfiguration{}, "ServingPathConfiguration", SetDefaultsServingPathConfiguration, ValidateServingPathConfiguration)
}

// ValidateServingPathConfiguration tells which fields of a defaulted configuration have values that they cannot have.
func ValidateServingPathConfiguration(c *ServingPathConfiguration) field.ErrorList {
	errs := validateManager(&c.ClientConnection, &c.LeaderElection, c.HealthBindAddress, c.MetricsBindAddress)
	errs = append(errs, validateWebhookServer(field.NewPath("webhooks"), &c.Webhooks)...)
	errs = append(errs, validateFallbackMode(field.NewPath("fallback", "mode"), c.Fallback.Mode)...)
	errs = append(errs, notNegative(field.NewPath("touch", "interval"), c.Touch.Interval)...)
	rebalance := field.NewPath("rebalance")
	errs = append(errs, notNegative(rebalance.Child("settleTime"), c.Rebalance.SettleTime)...)
	errs = append(errs, notNegative(rebalance.Child("backoff"), c.Rebalance.Backoff)...)
	errs = append(errs, notNegative(rebalance.Child("timeout"), c.Rebalance.Timeout)...)
	return append(errs, validateComponents(field.NewPath("components"), c.Components)...)
}

func validateFallbackMode(path *field.Path, mode FallbackMode) field.ErrorList {
	if mode == FallbackNone || mode == FallbackGPUNodes {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, mode, []FallbackMode{FallbackNone, FallbackGPUNodes})}
}

func validateComponents(path *field.Path, components []ServingPathComponent) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i := range components {
		c := &components[i]
		at := path.Index(i)
		for _, message := range validation.IsDNS1123Label(c.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), c.Name, message))
		}
		if seen.Has(c.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		seen.Insert(c.Name)
		errs = append(errs, validateMatch(at.Child("match"), &c.Match)...)
		errs = append(errs, validateWishes(at, c)...)
	}
	return errs
}

func validateMatch(path *field.Path, m *ComponentMatch) field.ErrorList {
	var errs field.ErrorList
	if len(m.Kinds) == 0 {
		errs = append(errs, field.Required(path.Child("kinds"), "a component that matches no kind would do nothing"))
	}
	kinds := []ComponentKind{ComponentDeployment, ComponentEnvoyProxy, ComponentPod}
	for i, kind := range m.Kinds {
		if !slices.Contains(kinds, kind) {
			errs = append(errs, field.NotSupported(path.Child("kinds").Index(i), kind, kinds))
		}
	}
	if len(m.Namespaces) == 0 {
		errs = append(errs, field.Required(path.Child("namespaces"), `name the namespaces, or say "*" for all`))
	}
	for i, namespace := range m.Namespaces {
		errs = append(errs, validateNamespacePattern(path.Child("namespaces").Index(i), namespace)...)
	}
	if m.NamespaceLabel != "" {
		errs = append(errs, metav1validation.ValidateLabelName(m.NamespaceLabel, path.Child("namespaceLabel"))...)
	}
	errs = append(errs, metav1validation.ValidateLabels(m.Labels, path.Child("labels"))...)
	if len(m.Labels) == 0 && m.Expression == "" {
		errs = append(errs, field.Required(path, "labels or an expression; without both it would match everything in its namespaces"))
	}
	return errs
}

// PatternCharacters make the name of a namespace a pattern.
const PatternCharacters = `*?[\`

func validateNamespacePattern(path *field.Path, namespace string) field.ErrorList {
	var errs field.ErrorList
	if strings.ContainsAny(namespace, PatternCharacters) {
		if _, err := pathpkg.Match(namespace, ""); err != nil {
			errs = append(errs, field.Invalid(path, namespace, "not a pattern: it has a [ without its ], or ends with a backslash"))
		}
		return errs
	}
	for _, message := range validation.IsDNS1123Label(namespace) {
		errs = append(errs, field.Invalid(path, namespace, message))
	}
	return errs
}

// validateWishes tells apart what a component of its nature and kinds can have.
func validateWishes(path *field.Path, c *ServingPathComponent) field.ErrorList {
	var errs field.ErrorList
	if c.MinReplicas != nil {
		errs = append(errs, atLeast(path.Child("minReplicas"), *c.MinReplicas, 1)...)
	}
	if c.Budget != nil {
		errs = append(errs, atLeast(path.Child("budget", "maxUnavailable"), *c.Budget.MaxUnavailable, 1)...)
	}
	if s := c.Spread; s != nil {
		errs = append(errs, validateSpread(path.Child("spread"), s)...)
	}
	if c.Fallback != "" {
		errs = append(errs, validateFallbackMode(path.Child("fallback"), c.Fallback)...)
	}
	if (c.Single || c.LeaderGated) && (c.Budget != nil || c.MinReplicas != nil && *c.MinReplicas > 1 || *c.Rebalance) {
		errs = append(errs, field.Forbidden(path, "a component that is single or leaderGated can have no budget, no minReplicas above 1 and no rebalance"))
	}
	if slices.Contains(c.Match.Kinds, ComponentPod) && (c.MinReplicas != nil || c.Budget != nil || len(c.Containers) > 0 || c.Rollout != nil) {
		errs = append(errs, field.Forbidden(path, "of pods only the spread and the fallback can be filled in"))
	}
	return errs
}

func validateSpread(path *field.Path, s *ComponentSpread) field.ErrorList {
	var errs field.ErrorList
	if len(s.TopologyKeys) == 0 {
		errs = append(errs, field.Required(path.Child("topologyKeys"), "such as kubernetes.io/hostname"))
	}
	for i, key := range s.TopologyKeys {
		for _, message := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(path.Child("topologyKeys").Index(i), key, message))
		}
	}
	actions := []corev1.UnsatisfiableConstraintAction{corev1.ScheduleAnyway, corev1.DoNotSchedule}
	if !slices.Contains(actions, s.WhenUnsatisfiable) {
		errs = append(errs, field.NotSupported(path.Child("whenUnsatisfiable"), s.WhenUnsatisfiable, actions))
	}
	return errs
}

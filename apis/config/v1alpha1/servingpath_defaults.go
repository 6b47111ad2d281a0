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
	_ "embed"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

//go:embed servingpath_components.yaml
var shippedComponents []byte

// ShippedComponents gives the serving path as Modelplane installs it.
func ShippedComponents() []ServingPathComponent {
	var list []ServingPathComponent
	if err := yaml.UnmarshalStrict(shippedComponents, &list); err != nil {
		panic(fmt.Sprintf("the shipped components: %v", err)) // a mistake in this package, found by any test of it
	}
	return list
}

// SetDefaultsServingPathConfiguration fills in what is absent, and merges AdditionalComponents into Components.
func SetDefaultsServingPathConfiguration(c *ServingPathConfiguration) {
	setDefault(&c.ClientConnection.QPS, 50)
	setDefault(&c.ClientConnection.Burst, 100)
	setDefaultValue(&c.LeaderElection.ResourceName, "evenkeel-workload-manager")
	setDefaultsLeaderElection(&c.LeaderElection)
	setDefaultValue(&c.HealthBindAddress, ":8081")
	setDefaultValue(&c.MetricsBindAddress, ":8080")
	setDefaultsWebhookServer(&c.Webhooks, "workload-manager")
	if c.Installers == nil {
		c.Installers = []string{"provider-kubernetes*", "crossplane-kubernetes-provider*", "helm", "Helm", "provider-helm*", "crossplane-helm-provider*"}
	}
	setDefaultsFallback(&c.Fallback)
	setDefault(&c.Touch.Interval, metav1.Duration{Duration: time.Second})
	setDefault(&c.Rebalance.SettleTime, metav1.Duration{Duration: 30 * time.Second})
	setDefault(&c.Rebalance.Backoff, metav1.Duration{Duration: time.Minute})
	setDefault(&c.Rebalance.Timeout, metav1.Duration{Duration: 5 * time.Minute})
	if c.Components == nil {
		c.Components = ShippedComponents()
	}
	mergeComponents(c)
	for i := range c.Components {
		setDefaultsComponent(&c.Components[i])
	}
}

func setDefaultsFallback(f *ServingPathFallback) {
	setDefaultValue(&f.Mode, FallbackNone)
	if f.Tolerations == nil {
		f.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	}
	if f.SystemNodes == nil {
		f.SystemNodes = []corev1.PreferredSchedulingTerm{
			{Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "modelplane.ai/pool", Operator: corev1.NodeSelectorOpIn, Values: []string{"system"}},
			}}},
			{Weight: 50, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "nvidia.com/gpu.present", Operator: corev1.NodeSelectorOpDoesNotExist},
			}}},
		}
	}
}

// mergeComponents puts the additional ones in front, and drops those whose names they have taken.
func mergeComponents(c *ServingPathConfiguration) {
	if len(c.AdditionalComponents) == 0 {
		return
	}
	taken := map[string]bool{}
	for i := range c.AdditionalComponents {
		taken[c.AdditionalComponents[i].Name] = true
	}
	rest := slices.DeleteFunc(c.Components, func(component ServingPathComponent) bool { return taken[component.Name] })
	c.Components = slices.Concat(c.AdditionalComponents, rest)
	c.AdditionalComponents = nil
}

func setDefaultsComponent(c *ServingPathComponent) {
	setDefault(&c.Enabled, true)
	setDefault(&c.Rebalance, !c.Single && !c.LeaderGated)
	if c.Spread != nil {
		setDefaultValue(&c.Spread.WhenUnsatisfiable, corev1.ScheduleAnyway)
	}
	if c.Budget != nil {
		setDefault(&c.Budget.MaxUnavailable, 1)
	}
}

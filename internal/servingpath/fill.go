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

package servingpath

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
)

// Filled says what was done to an object, and what was not, in words for people.
type Filled struct {
	// Set lists the fields that were filled in or raised, in a fixed order.
	Set []string
	// LeftAlone says why something that the component should have was not set; empty if all is well.
	LeftAlone []string
	// Autoscaled tells that it was left alone for its autoscaler, which is nothing to worry about.
	Autoscaled bool
}

func (f *Filled) set(field string) { f.Set = append(f.Set, field) }

func (f *Filled) leave(format string, args ...any) {
	f.LeftAlone = append(f.LeftAlone, fmt.Sprintf(format, args...))
}

// FillDeployment fills in what a component's Deployment lacks, in place. autoscaler names the one that scales it; such
// a Deployment is left alone, and so is one of zero replicas. Doing it twice changes nothing more.
func (c *Catalogue) FillDeployment(d *appsv1.Deployment, component *Component, autoscaler string) Filled {
	var f Filled
	switch {
	case component.Single || Off(d) || d.DeletionTimestamp != nil:
		return f
	case autoscaler != "":
		f.leave("%s scales it, so it is left alone", autoscaler)
		f.Autoscaled = true
		return f
	case ptr.Deref(d.Spec.Replicas, 1) == 0:
		return f
	}
	c.fillReplicas(&f, d, component)
	c.fillRollout(&f, d, component.Rollout)
	fillProbes(&f, &d.Spec.Template.Spec, component.Containers)
	fillSpread(&f, &d.Spec.Template.Spec, component.Spread, d.Spec.Selector, true)
	fillFallback(&f, &d.Spec.Template.Spec, component.fallback)
	return f
}

// FillPod fills in the spread and the fallback of a pod whose owner cannot be reached. Its labels, apart from those
// that tell revisions apart, select its siblings.
func (c *Catalogue) FillPod(p *corev1.Pod, component *Component) Filled {
	var f Filled
	if component.Single || Off(p) || p.DeletionTimestamp != nil || p.Spec.NodeName != "" {
		return f
	}
	siblings := map[string]string{}
	for key, value := range p.Labels {
		if key != appsv1.DefaultDeploymentUniqueLabelKey && key != appsv1.ControllerRevisionHashLabelKey {
			siblings[key] = value
		}
	}
	_, hashed := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	fillSpread(&f, &p.Spec, component.Spread, &metav1.LabelSelector{MatchLabels: siblings}, hashed)
	fillFallback(&f, &p.Spec, component.fallback)
	return f
}

func (c *Catalogue) fillReplicas(f *Filled, d *appsv1.Deployment, component *Component) {
	least := ptr.Deref(component.MinReplicas, 1)
	if ptr.Deref(d.Spec.Replicas, 1) != 1 || least <= 1 {
		return
	}
	if manager := c.person(d.ManagedFields, replicasPath); manager != "" {
		f.leave("%q has set its one replica, so it stays one: the drain of its node interrupts it. Scale it to %d", manager, least)
		return
	}
	d.Spec.Replicas = ptr.To(least)
	f.set("replicas")
}

// The API server has filled in these before any webhook is called.
const defaultShare = "25%"

func (c *Catalogue) fillRollout(f *Filled, d *appsv1.Deployment, rollout *configapi.ComponentRollout) {
	update := d.Spec.Strategy.RollingUpdate
	if rollout == nil || update == nil {
		return
	}
	for _, field := range []struct {
		name    string
		path    fieldpath.Path
		current **intstr.IntOrString
		wanted  *intstr.IntOrString
	}{
		{"maxUnavailable", maxUnavailablePath, &update.MaxUnavailable, rollout.MaxUnavailable},
		{"maxSurge", maxSurgePath, &update.MaxSurge, rollout.MaxSurge},
	} {
		isDefault := *field.current == nil || (*field.current).Type == intstr.String && (*field.current).StrVal == defaultShare
		if field.wanted == nil || !isDefault || *field.current != nil && **field.current == *field.wanted ||
			c.person(d.ManagedFields, field.path) != "" {
			continue
		}
		*field.current = ptr.To(*field.wanted)
		f.set("strategy.rollingUpdate." + field.name)
	}
}

func fillProbes(f *Filled, pod *corev1.PodSpec, containers []configapi.ComponentContainer) {
	for _, wanted := range containers {
		for i := range pod.Containers {
			container := &pod.Containers[i]
			if container.Name != wanted.Name {
				continue
			}
			if container.ReadinessProbe == nil && wanted.ReadinessProbe != nil {
				container.ReadinessProbe = wanted.ReadinessProbe.DeepCopy()
				f.set("containers[" + wanted.Name + "].readinessProbe")
			}
			if container.LivenessProbe == nil && wanted.LivenessProbe != nil {
				container.LivenessProbe = wanted.LivenessProbe.DeepCopy()
				f.set("containers[" + wanted.Name + "].livenessProbe")
			}
		}
	}
}

func fillSpread(f *Filled, pod *corev1.PodSpec, spread *configapi.ComponentSpread, siblings *metav1.LabelSelector, hashed bool) {
	if spread == nil || len(pod.TopologySpreadConstraints) > 0 {
		return
	}
	pod.TopologySpreadConstraints = Constraints(spread, siblings, hashed)
	f.set("topologySpreadConstraints")
}

// Constraints are the topology spread constraints that a spread means for pods that a selector selects. hashed tells
// that the pods carry a label that tells revisions apart, so that pods of an old one do not count.
func Constraints(spread *configapi.ComponentSpread, siblings *metav1.LabelSelector, hashed bool) []corev1.TopologySpreadConstraint {
	constraints := make([]corev1.TopologySpreadConstraint, 0, len(spread.TopologyKeys))
	for _, key := range spread.TopologyKeys {
		constraint := corev1.TopologySpreadConstraint{
			MaxSkew:           1,
			TopologyKey:       key,
			WhenUnsatisfiable: spread.WhenUnsatisfiable,
			LabelSelector:     siblings.DeepCopy(),
			// A cordoned node is no place to balance against.
			NodeTaintsPolicy: ptr.To(corev1.NodeInclusionPolicyHonor),
		}
		if hashed {
			constraint.MatchLabelKeys = []string{appsv1.DefaultDeploymentUniqueLabelKey}
		}
		constraints = append(constraints, constraint)
	}
	return constraints
}

func fillFallback(f *Filled, pod *corev1.PodSpec, fallback *configapi.ServingPathFallback) {
	if fallback == nil {
		return
	}
	added := false
	for _, toleration := range fallback.Tolerations {
		if !tolerates(pod.Tolerations, &toleration) {
			pod.Tolerations = append(pod.Tolerations, *toleration.DeepCopy())
			added = true
		}
	}
	if added {
		f.set("tolerations")
	}
	if len(fallback.SystemNodes) == 0 || pod.Affinity != nil && pod.Affinity.NodeAffinity != nil {
		return
	}
	if pod.Affinity == nil {
		pod.Affinity = &corev1.Affinity{}
	}
	pod.Affinity.NodeAffinity = &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: fallback.DeepCopy().SystemNodes,
	}
	f.set("affinity.nodeAffinity")
}

// tolerates tells whether all that one toleration tolerates is tolerated already.
func tolerates(have []corev1.Toleration, wanted *corev1.Toleration) bool {
	for i := range have {
		t := &have[i]
		if t.Operator == corev1.TolerationOpExists && t.Key == "" && (t.Effect == "" || t.Effect == wanted.Effect) || t.MatchToleration(wanted) {
			return true
		}
	}
	return false
}

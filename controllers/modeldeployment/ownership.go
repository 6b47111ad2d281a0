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

package modeldeployment

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// ReasonCompositionOwnsReplicas is the event on a deployment that asks for Evenkeel and is composed by something else.
const ReasonCompositionOwnsReplicas = "CompositionOwnsReplicas"

// schedulerName gives the scheduler that a deployment asks for: the field wins over the annotation.
func schedulerName(d *modelplane.ModelDeployment) string {
	if name := d.Spec.Template.Spec.SchedulerName; name != "" {
		return name
	}
	return d.Annotations[evenkeel.AnnotationSchedulerName]
}

// priorityClassName gives the priority class that a deployment asks for: the field wins over the annotation.
func priorityClassName(d *modelplane.ModelDeployment) string {
	if name := d.Spec.Template.Spec.PriorityClassName; name != "" {
		return name
	}
	return d.Annotations[evenkeel.AnnotationPriorityClass]
}

// composition gives the Crossplane composition of a deployment, empty without one.
func composition(d *modelplane.ModelDeployment) string {
	if c := d.Spec.Crossplane; c != nil && c.CompositionRef != nil {
		return c.CompositionRef.Name
	}
	return ""
}

// acts tells whether the deployment is Evenkeel's: it asks for one of our schedulers, and nothing else makes its
// replicas.
func (r *Reconciler) acts(d *modelplane.ModelDeployment) bool {
	if !slices.Contains(r.SchedulerNames, schedulerName(d)) {
		return false
	}
	return composition(d) == "" || slices.Contains(r.OwnCompositions, composition(d))
}

// handOff gives up a deployment that is not, or not any more, Evenkeel's. Its replicas stay for whoever keeps them now;
// the placements go, since nothing would keep them true.
func (r *Reconciler) handOff(ctx context.Context, d *modelplane.ModelDeployment) error {
	if slices.Contains(r.SchedulerNames, schedulerName(d)) {
		r.noteComposition(d)
	}
	placements, err := r.placementsOf(ctx, d)
	if err != nil {
		return err
	}
	for _, p := range placements {
		if !metav1.IsControlledBy(p, d) || p.DeletionTimestamp != nil {
			continue
		}
		if err := r.Client.Delete(ctx, p, client.Preconditions{UID: &p.UID}); client.IgnoreNotFound(err) != nil {
			return stale(fmt.Errorf("delete placement %s of a deployment that was handed off: %w", p.Name, err))
		}
	}
	return nil
}

func (r *Reconciler) noteComposition(d *modelplane.ModelDeployment) {
	r.warnOnce(d, ReasonCompositionOwnsReplicas, fmt.Sprintf(
		"The deployment asks for scheduler %q, but composition %q makes its replicas: leaving it alone. Remove the scheduler name, or list the composition in ownCompositions of hub-manager's configuration if it leaves replicas to Evenkeel",
		schedulerName(d), composition(d)))
}

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

// Package servingpathevents tells the controllers of the serving path which events are about it. A cluster has many
// other Deployments. It must not judge what follows from an event.
package servingpathevents

import (
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// Deployments lets the events of Deployments pass that belong to the serving path, or did until this event.
func Deployments(catalogue *servingpath.Catalogue) predicate.Predicate {
	belongs := func(o client.Object) bool {
		d, ok := o.(*appsv1.Deployment)
		return ok && catalogue.ForStored(d) != nil
	}
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return belongs(e.Object) },
		UpdateFunc:  func(e event.UpdateEvent) bool { return belongs(e.ObjectNew) || belongs(e.ObjectOld) },
		DeleteFunc:  func(e event.DeleteEvent) bool { return belongs(e.Object) },
		GenericFunc: func(e event.GenericEvent) bool { return belongs(e.Object) },
	}
}

// WishChanged lets the events of Deployments pass but for updates of the status only, which say nothing about what one
// should have.
func WishChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{})
}

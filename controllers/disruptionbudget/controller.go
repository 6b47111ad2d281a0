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

package disruptionbudget

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/evenkeel-io/evenkeel/controllers/servingpathevents"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// Name of the controller.
const Name = "disruptionbudget"

// heldFor is how long pods must have run without becoming Ready before they count as ones that never will while
// another leads. Models and caches load meanwhile.
const heldFor = 2 * time.Minute

// Reconciler keeps the budgets.
type Reconciler struct {
	Client    client.Client
	Recorder  events.EventRecorder
	Catalogue *servingpath.Catalogue
	Clock     clock.PassiveClock

	problems *problems
}

// Setup registers the controller.
func Setup(mgr ctrl.Manager, catalogue *servingpath.Catalogue) error {
	r := &Reconciler{
		Client:    mgr.GetClient(),
		Recorder:  mgr.GetEventRecorder("evenkeel-workload-manager"),
		Catalogue: catalogue,
		Clock:     clock.RealClock{},
	}
	var err error
	if r.problems, err = newProblems(); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&appsv1.Deployment{}, builder.WithPredicates(servingpathevents.Deployments(catalogue), servingpathevents.WishChanged())).
		// Also finds budgets that an older configuration has left. Not for each change of a budget's status, of which a drain makes many.
		Watches(&policyv1.PodDisruptionBudget{}, handler.EnqueueRequestsFromMapFunc(r.byBudget), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(byPod)).
		Complete(r)
}

// byPod maps a pod of a Deployment to it: its ReplicaSet is named after the Deployment and the hash in the pod's label.
func byPod(_ context.Context, o client.Object) []reconcile.Request {
	owner := metav1.GetControllerOf(o)
	hash := o.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]
	if owner == nil || owner.Kind != "ReplicaSet" || hash == "" {
		return nil
	}
	name, ok := strings.CutSuffix(owner.Name, "-"+hash)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// byBudget maps a budget of Evenkeel's to its Deployment, and another one to all of the serving path's Deployments next to
// it: any of them may be the one that it is about.
func (r *Reconciler) byBudget(ctx context.Context, o client.Object) []reconcile.Request {
	if owner := metav1.GetControllerOf(o); owner != nil && o.GetLabels()[LabelManagedBy] == ManagedBy {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: owner.Name}}}
	}
	list := &appsv1.DeploymentList{}
	if err := r.Client.List(ctx, list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Cannot list Deployments", "namespace", o.GetNamespace())
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if r.Catalogue.ForStored(&list.Items[i]) != nil {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// Reconcile looks at one Deployment.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	d := &appsv1.Deployment{}
	if err := r.Client.Get(ctx, request.NamespacedName, d); apierrors.IsNotFound(err) {
		r.problems.forget(request.NamespacedName)
		return ctrl.Result{}, nil // its budget is garbage now
	} else if err != nil {
		return ctrl.Result{}, err
	}
	component := r.Catalogue.ForStored(d)
	if component == nil && !r.problems.knows(request.NamespacedName) {
		return ctrl.Result{}, r.withdrawLeftover(ctx, d)
	}
	s, err := r.see(ctx, d)
	if err != nil {
		return ctrl.Result{}, err
	}
	result, err := r.keep(ctx, s, component)
	if err != nil {
		return ctrl.Result{}, err
	}
	if component == nil || servingpath.Off(d) {
		r.problems.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	r.report(s)
	return result, nil
}

// scene is what there is around a Deployment.
type scene struct {
	deployment *appsv1.Deployment
	ours       *policyv1.PodDisruptionBudget // nil if there is none
	others     []*policyv1.PodDisruptionBudget
	idle       []*policyv1.PodDisruptionBudget // select no pod at all
	pods       []*corev1.Pod
}

func (r *Reconciler) see(ctx context.Context, d *appsv1.Deployment) (*scene, error) {
	budgets := &policyv1.PodDisruptionBudgetList{}
	if err := r.Client.List(ctx, budgets, client.InNamespace(d.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, client.InNamespace(d.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	s := &scene{deployment: d}
	for i := range budgets.Items {
		budget := &budgets.Items[i]
		switch {
		case metav1.IsControlledBy(budget, d):
			s.ours = budget
		case servingpath.Covers(budget, d.Spec.Template.Labels):
			s.others = append(s.others, budget)
		case budget.Labels[LabelManagedBy] != ManagedBy && selectsNone(budget, pods.Items):
			s.idle = append(s.idle, budget)
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil, err
	}
	for i := range pods.Items {
		if selector.Matches(labelSet(pods.Items[i].Labels)) {
			s.pods = append(s.pods, &pods.Items[i])
		}
	}
	return s, nil
}

func selectsNone(budget *policyv1.PodDisruptionBudget, pods []corev1.Pod) bool {
	for i := range pods {
		if servingpath.Covers(budget, pods[i].Labels) {
			return false
		}
	}
	return true
}

// keep makes, corrects or withdraws the budget.
func (r *Reconciler) keep(ctx context.Context, s *scene, component *servingpath.Component) (ctrl.Result, error) {
	d := s.deployment
	wanted := component != nil && component.Budget != nil && !component.Single && !component.LeaderGated &&
		!servingpath.Off(d) && d.DeletionTimestamp == nil && len(s.others) == 0
	if !wanted {
		return ctrl.Result{}, r.withdraw(ctx, s.ours)
	}
	if servingpath.NeverReady(s.pods, r.ranLong) {
		return ctrl.Result{}, r.withdraw(ctx, s.ours)
	}
	result := ctrl.Result{}
	if servingpath.NeverReady(s.pods, func(*corev1.Pod) bool { return true }) {
		result.RequeueAfter = heldFor // they may still become Ready
	}
	return result, r.ensure(ctx, s.ours, budgetFor(d, component))
}

func (r *Reconciler) ranLong(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		if running := pod.Status.ContainerStatuses[i].State.Running; running == nil || r.Clock.Since(running.StartedAt.Time) < heldFor {
			return false
		}
	}
	return true
}

func budgetFor(d *appsv1.Deployment, component *servingpath.Component) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{
			Name:      budgetName(d.Name),
			Namespace: d.Namespace,
			// Never the pods' labels: Envoy Gateway deletes budgets that carry those of its proxies.
			Labels:          map[string]string{LabelManagedBy: ManagedBy, LabelComponent: component.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable:             ptr.To(intOrString(*component.Budget.MaxUnavailable)),
			Selector:                   d.Spec.Selector.DeepCopy(),
			UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow),
		},
	}
}

func (r *Reconciler) ensure(ctx context.Context, have, want *policyv1.PodDisruptionBudget) error {
	if have == nil {
		// The Deployment may be going: do not block its deletion.
		want.OwnerReferences[0].BlockOwnerDeletion = nil
		if err := r.Client.Create(ctx, want); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create PodDisruptionBudget %s/%s: %w", want.Namespace, want.Name, err)
		}
		return nil
	}
	if apiequality.Semantic.DeepEqual(have.Spec, want.Spec) && apiequality.Semantic.DeepEqual(have.Labels, want.Labels) {
		return nil
	}
	updated := have.DeepCopy()
	updated.Spec, updated.Labels = want.Spec, want.Labels
	if err := r.Client.Update(ctx, updated); err != nil {
		return fmt.Errorf("update PodDisruptionBudget %s/%s: %w", want.Namespace, want.Name, err)
	}
	return nil
}

func (r *Reconciler) withdraw(ctx context.Context, ours *policyv1.PodDisruptionBudget) error {
	if ours == nil {
		return nil
	}
	err := r.Client.Delete(ctx, ours, client.Preconditions{UID: &ours.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete PodDisruptionBudget %s/%s: %w", ours.Namespace, ours.Name, err)
	}
	return nil
}

// withdrawLeftover is for Deployments that are no part of the serving path, or no more since the configuration changed.
func (r *Reconciler) withdrawLeftover(ctx context.Context, d *appsv1.Deployment) error {
	leftover := &policyv1.PodDisruptionBudget{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: d.Namespace, Name: budgetName(d.Name)}, leftover)
	if err != nil || !metav1.IsControlledBy(leftover, d) || leftover.Labels[LabelManagedBy] != ManagedBy {
		return client.IgnoreNotFound(err)
	}
	return r.withdraw(ctx, leftover)
}

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

package spread

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/controllers/servingpathevents"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// Name of the controller.
const Name = "spread"

// The reasons of events on workloads.
const (
	// ReasonMovedApart is a workload of which a pod was evicted, since another one runs on the same node.
	ReasonMovedApart = "MovedApart"
	// ReasonNotMoved is one whose pods share a node and cannot be moved apart now; the note says why.
	ReasonNotMoved = "CannotMoveApart"
)

// maxBackoff is how many times the configured backoff it grows to.
const maxBackoff = 20

// batch is how long events are gathered before the cluster is looked at: a rollout makes many, and a look is not cheap.
const batch = time.Second

// recheck is how soon a move under way is looked at again if no event says that it has ended.
const recheck = 5 * time.Second

// Reconciler looks at the whole cluster each time, one look after the other.
type Reconciler struct {
	Client    client.Client
	Recorder  events.EventRecorder
	Catalogue *servingpath.Catalogue
	Config    configapi.ServingPathRebalance
	Clock     clock.PassiveClock

	evictions *prometheus.CounterVec
	// underWay is the one move that was begun and has not ended; nil if there is none.
	underWay *underWay
	waits    map[types.NamespacedName]*waiting
	// matched remembers which component each Deployment belongs to, as of a resource version: a cluster has many
	// Deployments, and few of them change between two looks.
	matched map[types.UID]match
}

type match struct {
	resourceVersion string
	component       *servingpath.Component
}

type underWay struct {
	workload types.NamespacedName
	pod      types.UID
	since    time.Time
}

// waiting is why a workload that could be spread better has to wait.
type waiting struct {
	move    string        // the move that would be made, to notice another one
	ready   time.Time     // when it may be made
	backoff time.Duration // after the last failure
}

// cluster is the key of the only thing that is reconciled.
var cluster = reconcile.Request{NamespacedName: types.NamespacedName{Name: "cluster"}}

// Setup registers the controller.
func Setup(mgr ctrl.Manager, catalogue *servingpath.Catalogue, config configapi.ServingPathRebalance) error {
	r := New(mgr.GetClient(), mgr.GetEventRecorder("evenkeel-workload-manager"), catalogue, config)
	if err := metrics.Registry.Register(r.evictions); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	all := batched()
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		Watches(&appsv1.Deployment{}, all, builder.WithPredicates(servingpathevents.Deployments(catalogue))).
		Watches(&corev1.Node{}, all, nodePredicate()).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(r)
}

// New makes a reconciler with nothing under way.
func New(c client.Client, recorder events.EventRecorder, catalogue *servingpath.Catalogue, config configapi.ServingPathRebalance) *Reconciler {
	return &Reconciler{
		Client: c, Recorder: recorder, Catalogue: catalogue, Config: config, Clock: clock.RealClock{},
		evictions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_serving_path_evictions_total",
			Help: "Evictions that spread replicas of the serving path, by result: evicted, or refused by a budget.",
		}, []string{"result"}),
		waits: map[types.NamespacedName]*waiting{},
	}
}

// Reconcile ends the move under way if it is over, and else begins the next one that is due.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	s, err := r.see(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if r.underWay != nil && !r.ended(s) {
		return ctrl.Result{RequeueAfter: recheck}, nil
	}
	next := time.Duration(0)
	seen := map[types.NamespacedName]bool{}
	for _, d := range s.deployments {
		key := client.ObjectKeyFromObject(d)
		move := r.moveFor(s, d)
		if move == nil {
			continue
		}
		seen[key] = true
		if wait := r.wait(key, move); wait > 0 {
			if next == 0 || wait < next {
				next = wait
			}
			continue
		}
		wait, err := r.begin(ctx, d, move)
		return ctrl.Result{RequeueAfter: wait}, err
	}
	for key := range r.waits {
		if !seen[key] && (r.underWay == nil || r.underWay.workload != key) {
			delete(r.waits, key)
		}
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// snapshot is what one look sees.
type snapshot struct {
	deployments []*appsv1.Deployment // of the serving path, by namespace and name
	nodes       []*corev1.Node
	byNode      map[string][]*corev1.Pod
	byNamespace map[string][]*corev1.Pod
}

func (r *Reconciler) see(ctx context.Context) (*snapshot, error) {
	deployments, nodes, pods := &appsv1.DeploymentList{}, &corev1.NodeList{}, &corev1.PodList{}
	for _, list := range []client.ObjectList{deployments, nodes, pods} {
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
	}
	s := &snapshot{byNode: map[string][]*corev1.Pod{}, byNamespace: map[string][]*corev1.Pod{}}
	matched := make(map[types.UID]match, len(deployments.Items))
	for i := range deployments.Items {
		d := &deployments.Items[i]
		m, known := r.matched[d.UID]
		if !known || m.resourceVersion != d.ResourceVersion {
			m = match{resourceVersion: d.ResourceVersion, component: r.Catalogue.ForDeployment(d)}
		}
		matched[d.UID] = m
		if m.component != nil && *m.component.Rebalance && !servingpath.Off(d) {
			s.deployments = append(s.deployments, d)
		}
	}
	r.matched = matched
	slices.SortFunc(s.deployments, func(a, b *appsv1.Deployment) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for i := range nodes.Items {
		s.nodes = append(s.nodes, &nodes.Items[i])
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		s.byNamespace[pod.Namespace] = append(s.byNamespace[pod.Namespace], pod)
		if pod.Spec.NodeName != "" {
			s.byNode[pod.Spec.NodeName] = append(s.byNode[pod.Spec.NodeName], pod)
		}
	}
	return s, nil
}

func (s *snapshot) podsOf(d *appsv1.Deployment) []*corev1.Pod {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil
	}
	var pods []*corev1.Pod
	for _, pod := range s.byNamespace[d.Namespace] {
		if selector.Matches(labels.Set(pod.Labels)) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// moveFor gives the move that would spread a settled workload better, or nil.
func (r *Reconciler) moveFor(s *snapshot, d *appsv1.Deployment) *servingpath.Move {
	pods := s.podsOf(d)
	if !settled(d) || len(pods) != int(d.Status.Replicas) {
		return nil
	}
	return r.Catalogue.Rebalance(pods, s.nodes, s.byNode)
}

// settled tells that every wanted replica is Ready and that no rollout is under way.
func settled(d *appsv1.Deployment) bool {
	wanted := ptr.Deref(d.Spec.Replicas, 1)
	s := &d.Status
	return d.DeletionTimestamp == nil && s.ObservedGeneration >= d.Generation && s.Replicas == wanted &&
		s.UpdatedReplicas == wanted && s.ReadyReplicas == wanted && s.AvailableReplicas == wanted
}

// ended tells whether the move under way is over, and sets its workload back if it took too long.
func (r *Reconciler) ended(s *snapshot) bool {
	for _, d := range s.deployments {
		if client.ObjectKeyFromObject(d) != r.underWay.workload {
			continue
		}
		pods := s.podsOf(d)
		gone := !slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.UID == r.underWay.pod })
		unready := slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return !servingpath.PodReady(p) })
		// The Deployment's status may be older than the eviction: the pods must be there too.
		if settled(d) && gone && !unready && len(pods) == int(d.Status.Replicas) {
			break
		}
		if r.Clock.Since(r.underWay.since) < r.Config.Timeout.Duration {
			return false
		}
	}
	// Should the replacement have gone to the same node again, the same move is proposed, and this makes it wait.
	r.setBack(r.underWay.workload)
	r.underWay = nil
	return true
}

// wait is how long a move must wait: for the replicas to settle, or because the last try failed.
func (r *Reconciler) wait(key types.NamespacedName, move *servingpath.Move) time.Duration {
	what := string(move.Pod.Spec.NodeName) + "->" + move.To
	w := r.waits[key]
	if w == nil {
		w = &waiting{move: what, ready: r.Clock.Now().Add(r.Config.SettleTime.Duration)}
		r.waits[key] = w
	} else if w.move != what && w.backoff == 0 {
		w.move, w.ready = what, r.Clock.Now().Add(r.Config.SettleTime.Duration)
	}
	return w.ready.Sub(r.Clock.Now())
}

// setBack lets a workload wait for longer each time.
func (r *Reconciler) setBack(key types.NamespacedName) time.Duration {
	w := r.waits[key]
	if w == nil {
		w = &waiting{}
		r.waits[key] = w
	}
	w.backoff = min(max(2*w.backoff, r.Config.Backoff.Duration), maxBackoff*r.Config.Backoff.Duration)
	w.ready = r.Clock.Now().Add(w.backoff)
	return w.backoff
}

func (r *Reconciler) begin(ctx context.Context, d *appsv1.Deployment, move *servingpath.Move) (time.Duration, error) {
	key := client.ObjectKeyFromObject(d)
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: move.Pod.Name, Namespace: move.Pod.Namespace},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &move.Pod.UID}},
	}
	err := r.Client.SubResource("eviction").Create(ctx, move.Pod, eviction)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return recheck, nil // it is gone, or another pod by now
	case apierrors.IsTooManyRequests(err), apierrors.IsInternalError(err), apierrors.IsForbidden(err):
		wait := r.setBack(key)
		r.evictions.WithLabelValues("refused").Inc()
		r.Recorder.Eventf(d, nil, corev1.EventTypeNormal, ReasonNotMoved, "Spread",
			"Pod %s is not moved although %s: %s. The next try is in %s", move.Pod.Name, move.Reason, apierrors.ReasonForError(err), wait)
		return wait, nil
	case err != nil:
		return 0, fmt.Errorf("evict pod %s/%s: %w", move.Pod.Namespace, move.Pod.Name, err)
	}
	r.underWay = &underWay{workload: key, pod: move.Pod.UID, since: r.Clock.Now()}
	r.evictions.WithLabelValues("evicted").Inc()
	log.FromContext(ctx).Info("Evicted a replica to spread a workload", "workload", key, "pod", move.Pod.Name, "reason", move.Reason)
	r.Recorder.Eventf(d, nil, corev1.EventTypeNormal, ReasonMovedApart, "Spread", "Evicted pod %s: %s", move.Pod.Name, move.Reason)
	return recheck, nil
}

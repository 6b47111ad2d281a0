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

package touch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/controllers/servingpathevents"
	"github.com/evenkeel-io/evenkeel/internal/autoscalers"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

// Name of the controllers, with the kind behind it, and the field manager of their patches, which own no field.
const (
	Name         = "touch"
	FieldManager = "evenkeel-touch"
)

// ReasonLeftAlone is the reason of the event that says why a component lacks something for good.
const ReasonLeftAlone = "LeftAlone"

// errNotFilled is why an object is tried again.
var errNotFilled = errors.New("admission filled nothing in: the webhook does not answer, or is not installed")

// Options of the controllers.
type Options struct {
	Catalogue *servingpath.Catalogue
	// Config paces.
	Config configapi.ServingPathTouch
	// EnvoyProxies tells whether the cluster serves that kind.
	EnvoyProxies bool
}

// toucher is what the controllers of all kinds share, also the pace.
type toucher struct {
	client    client.Client
	recorder  events.EventRecorder
	catalogue *servingpath.Catalogue
	limiter   *rate.Limiter
	touches   *prometheus.CounterVec

	mu   sync.Mutex
	told map[subject]told
}

// subject is what something is told about.
type subject struct {
	kind string
	types.NamespacedName
}

// told is what was last said, of which object by that name.
type told struct {
	uid     types.UID
	message string
}

// Setup registers a controller for each kind.
func Setup(mgr ctrl.Manager, o Options) error {
	t := newToucher(mgr.GetClient(), mgr.GetEventRecorder("evenkeel-workload-manager"), o)
	if err := metrics.Registry.Register(t.touches); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	one := controller.Options{MaxConcurrentReconciles: 1, RateLimiter: retries()}
	err := ctrl.NewControllerManagedBy(mgr).Named(Name+"-deployments").
		For(&appsv1.Deployment{}, builder.WithPredicates(servingpathevents.Deployments(o.Catalogue), servingpathevents.WishChanged())).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, handler.EnqueueRequestsFromMapFunc(byAutoscaler)).
		WithOptions(one).
		Complete(reconcile.Func(t.deployment))
	if err != nil || !o.EnvoyProxies || !o.Catalogue.Has(configapi.ComponentEnvoyProxy) {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).Named(Name + "-envoyproxies").
		For(newEnvoyProxy()).
		WithOptions(one).
		Complete(reconcile.Func(t.envoyProxy))
}

func newToucher(c client.Client, recorder events.EventRecorder, o Options) *toucher {
	return &toucher{
		client:    c,
		recorder:  recorder,
		catalogue: o.Catalogue,
		limiter:   rate.NewLimiter(rate.Every(o.Config.Interval.Duration), 1),
		touches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_serving_path_touches_total",
			Help: "Patches that brought an object through admission, by result: filled, or unanswered if admission filled nothing in.",
		}, []string{"result"}),
		told: map[subject]told{},
	}
}

// retries pace the next tries of each object: while the webhook does not answer, they come down to one a minute.
func retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)
}

func newEnvoyProxy() *unstructured.Unstructured {
	p := &unstructured.Unstructured{}
	p.SetGroupVersionKind(servingpath.EnvoyProxyKind)
	return p
}

func byAutoscaler(_ context.Context, o client.Object) []reconcile.Request {
	target := &o.(*autoscalingv2.HorizontalPodAutoscaler).Spec.ScaleTargetRef
	if target.Kind != "Deployment" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: target.Name}}}
}

func (t *toucher) deployment(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	d := &appsv1.Deployment{}
	about := subject{"Deployment", request.NamespacedName}
	if err := t.client.Get(ctx, request.NamespacedName, d); err != nil {
		return ctrl.Result{}, t.unread(about, err)
	}
	lacks := func() (servingpath.Filled, error) {
		component := t.catalogue.ForDeployment(d)
		if component == nil {
			return servingpath.Filled{}, nil
		}
		autoscaler, err := autoscalers.For(ctx, t.client, d)
		if err != nil {
			return servingpath.Filled{}, err
		}
		return t.catalogue.FillDeployment(d.DeepCopy(), component, autoscaler), nil
	}
	return ctrl.Result{}, t.touch(ctx, about, d, lacks)
}

func (t *toucher) envoyProxy(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	p := newEnvoyProxy()
	about := subject{servingpath.EnvoyProxyKind.Kind, request.NamespacedName}
	if err := t.client.Get(ctx, request.NamespacedName, p); err != nil {
		return ctrl.Result{}, t.unread(about, err)
	}
	lacks := func() (servingpath.Filled, error) {
		component := t.catalogue.ForEnvoyProxy(p)
		if component == nil {
			return servingpath.Filled{}, nil
		}
		return t.catalogue.FillEnvoyProxy(p.DeepCopy(), component), nil
	}
	return ctrl.Result{}, t.touch(ctx, about, p, lacks)
}

// touch patches an object if it lacks something, and makes sure that it then does not any more. lacks judges the object
// as it is at that moment.
func (t *toucher) touch(ctx context.Context, about subject, o client.Object, lacks func() (servingpath.Filled, error)) error {
	filled, err := lacks()
	if err != nil {
		return err
	}
	t.tell(about, o, filled)
	if len(filled.Set) == 0 {
		return nil
	}
	if err := t.limiter.Wait(ctx); err != nil {
		return err
	}
	if err := t.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte("{}")), client.FieldOwner(FieldManager)); err != nil {
		return client.IgnoreNotFound(err)
	}
	left, err := lacks()
	if err != nil {
		return err
	}
	if slices.Equal(left.Set, filled.Set) {
		t.touches.WithLabelValues("unanswered").Inc()
		return fmt.Errorf("%s/%s lacks %s: %w", o.GetNamespace(), o.GetName(), strings.Join(left.Set, ", "), errNotFilled)
	}
	t.touches.WithLabelValues("filled").Inc()
	log.FromContext(ctx).Info("Brought through admission", "filled", filled.Set)
	return nil
}

// tell says once why something is left alone.
func (t *toucher) tell(about subject, o client.Object, filled servingpath.Filled) {
	now := told{uid: o.GetUID(), message: strings.Join(filled.LeftAlone, "; ")}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told[about] == now {
		return
	}
	if now.message == "" {
		delete(t.told, about)
		return
	}
	t.told[about] = now
	kind := corev1.EventTypeWarning
	if filled.Autoscaled {
		kind = corev1.EventTypeNormal
	}
	t.recorder.Eventf(o, nil, kind, ReasonLeftAlone, "FillIn", "%s", now.message)
}

// unread forgets an object that is gone.
func (t *toucher) unread(about subject, err error) error {
	if apierrors.IsNotFound(err) {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.told, about)
		return nil
	}
	return err
}

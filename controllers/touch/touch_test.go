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
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
)

const (
	namespace = "lws-system"
	never     = time.Hour // between two touches
)

// scene is a cluster whose admission fills in what it is told, or does not answer.
type scene struct {
	t        *testing.T
	touch    *toucher
	client   client.Client
	recorder *events.FakeRecorder
	options  Options

	down    bool  // the webhook
	refuses error // the API server, each patch
	blind   error // the cache, as to autoscalers
	patched []string
}

func newScene(t *testing.T, settings string, objects ...client.Object) *scene {
	t.Helper()
	s := &scene{t: t, recorder: events.NewFakeRecorder(100)}
	s.configure(settings)
	known := runtime.NewScheme()
	require.NoError(t, scheme.AddToScheme(known))
	s.client = fake.NewClientBuilder().WithScheme(known).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{Get: s.get, Patch: s.patch, List: s.list}).Build()
	s.restart()
	return s
}

// configure changes what the webhook and the controllers go by, from the next start on.
func (s *scene) configure(settings string) {
	config, err := configapi.DecodeServingPathConfiguration([]byte(settings))
	require.NoError(s.t, err)
	s.options.Catalogue, err = servingpath.New(config)
	require.NoError(s.t, err)
	s.options.Config.Interval = &metav1.Duration{} // no pause
}

// restart is a new process: it remembers nothing.
func (s *scene) restart() { s.touch = newToucher(s.client, s.recorder, s.options) }

// patch does what the API server does with a patch of nothing: admission, and a write if that changes anything.
func (s *scene) patch(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	data, err := patch.Data(o)
	require.NoError(s.t, err)
	require.Equal(s.t, "{}", string(data), "a touch changes nothing by itself")
	applied := (&client.PatchOptions{}).ApplyOptions(options)
	require.Equal(s.t, FieldManager, applied.FieldManager)
	s.patched = append(s.patched, o.GetName())
	if s.refuses != nil {
		return s.refuses
	}
	if err := s.get(ctx, c, client.ObjectKeyFromObject(o), o); err != nil || s.down {
		return err
	}
	switch o := o.(type) {
	case *appsv1.Deployment:
		s.options.Catalogue.FillDeployment(o, s.options.Catalogue.ForDeployment(o), "")
	default:
		proxy := newEnvoyProxy()
		require.NoError(s.t, c.Get(ctx, client.ObjectKeyFromObject(o), proxy))
		s.options.Catalogue.FillEnvoyProxy(proxy, s.options.Catalogue.ForEnvoyProxy(proxy))
		require.NoError(s.t, c.Update(ctx, proxy))
		return c.Get(ctx, client.ObjectKeyFromObject(o), o)
	}
	return c.Update(ctx, o)
}

func (s *scene) list(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	if _, ok := list.(*autoscalingv2.HorizontalPodAutoscalerList); ok && s.blind != nil {
		return s.blind
	}
	return c.List(ctx, list, options...)
}

// look reconciles a Deployment. It waits for no pace: that is refused, as by a process that is asked to end.
func (s *scene) look(name string) error {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), never/2)
	defer cancel()
	_, err := s.touch.deployment(ctx, requestFor(name))
	return err
}

func requestFor(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}
}

func (s *scene) deployment(name string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	require.NoError(s.t, s.client.Get(s.t.Context(), requestFor(name).NamespacedName, d))
	return d
}

func (s *scene) told() string {
	var all []string
	for {
		select {
		case e := <-s.recorder.Events:
			all = append(all, e)
		default:
			return strings.Join(all, "\n")
		}
	}
}

func (s *scene) counted(result string) float64 {
	return testutil.ToFloat64(s.touch.touches.WithLabelValues(result))
}

func lws(name string, change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "u", Labels: map[string]string{"app.kubernetes.io/name": "lws"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"of": name}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"of": name}}},
		},
	}
	for _, f := range change {
		f(d)
	}
	return d
}

func replicas(n int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &n }
}

// byHand lets a person have set the replicas: the fake client keeps no managed fields, so that get adds them.
func byHand(d *appsv1.Deployment) { d.Annotations = map[string]string{"scaled": "by hand"} }

func (s *scene) get(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	err := c.Get(ctx, key, o, options...)
	if o.GetAnnotations()["scaled"] != "" {
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apps/v1", FieldsType: "FieldsV1",
			Subresource: "scale", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:replicas":{}}}`)},
		}})
	}
	return err
}

func autoscaler(name, of string) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: of}},
	}
}

func TestWhatIsTouched(t *testing.T) {
	for name, tc := range map[string]struct {
		objects []client.Object
		touched bool
		told    string
	}{
		"it lacks a replica and a spread": {objects: []client.Object{lws("d")}, touched: true},
		"it lacks a spread":               {objects: []client.Object{lws("d", replicas(3))}, touched: true},
		"a person's one replica, and no spread": {
			objects: []client.Object{lws("d", byHand)}, touched: true, told: `Warning LeftAlone "kubectl" has set its one replica`},
		"autoscaled":            {objects: []client.Object{lws("d"), autoscaler("hpa", "d")}, told: "Normal LeftAlone HorizontalPodAutoscaler hpa scales it"},
		"autoscaled is another": {objects: []client.Object{lws("d"), autoscaler("hpa", "e")}, touched: true},
		"scaled to zero":        {objects: []client.Object{lws("d", replicas(0))}},
		"opted out": {objects: []client.Object{lws("d", func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{servingpath.AnnotationServingPath: servingpath.ServingPathOff}
		})}},
		"no part of the serving path": {objects: []client.Object{lws("d", func(d *appsv1.Deployment) { d.Labels = nil })}},
		"an engine": {objects: []client.Object{lws("d", func(d *appsv1.Deployment) {
			d.Spec.Template.Labels["modelplane.ai/serving"] = "r"
		})}},
		"it is gone": {},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, "", tc.objects...)
			require.NoError(t, s.look("d"))
			assert.Equal(t, tc.touched, len(s.patched) == 1, "%v", s.patched)
			told := s.told()
			assert.Contains(t, told, tc.told)
			assert.Equal(t, tc.told == "", told == "", told)
			if !tc.touched {
				return
			}
			assert.Equal(t, 1., s.counted("filled"))
			assert.NotEmpty(t, s.deployment("d").Spec.Template.Spec.TopologySpreadConstraints)
			require.NoError(t, s.look("d"))
			assert.Len(t, s.patched, 1, "nothing is lacking any more")
			assert.Empty(t, s.told(), "told once")
		})
	}
}

func TestAConfigurationThatChanges(t *testing.T) {
	s := newScene(t, "", lws("d"))
	require.NoError(t, s.look("d"))
	require.Len(t, s.patched, 1)
	s.restart()
	require.NoError(t, s.look("d"))
	assert.Len(t, s.patched, 1, "a start alone touches nothing that lacks nothing")

	s.configure(`{"fallback":{"mode":"GPUNodes"}}`)
	s.restart()
	require.NoError(t, s.look("d"))
	assert.Len(t, s.patched, 2, "it lacks what the new configuration asks for")
	assert.Len(t, s.deployment("d").Spec.Template.Spec.Tolerations, 1)

	s.configure(`{"components":[]}`)
	s.restart()
	require.NoError(t, s.look("d"))
	assert.Len(t, s.patched, 2, "it is no part any more, and keeps what it has")
}

func TestErrorsAreKeptForAnotherTry(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, "d")
	for name, tc := range map[string]struct {
		fail    func(*scene)
		mend    func(*scene)
		wantErr string // none: it is not tried again
		counted float64
	}{
		"the webhook does not answer": {
			fail: func(s *scene) { s.down = true }, mend: func(s *scene) { s.down = false },
			wantErr: namespace + "/d lacks replicas, topologySpreadConstraints: " + errNotFilled.Error(), counted: 1,
		},
		"the patch is refused": {
			fail: func(s *scene) { s.refuses = errors.New("no patch") }, mend: func(s *scene) { s.refuses = nil }, wantErr: "no patch",
		},
		"nobody can tell who scales it": {
			fail: func(s *scene) { s.blind = errors.New("no cache") }, mend: func(s *scene) { s.blind = nil }, wantErr: "no cache",
		},
		"it goes meanwhile": {fail: func(s *scene) { s.refuses = gone }, mend: func(s *scene) { s.refuses = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, "", lws("d"))
			tc.fail(s)
			err := s.look("d")
			if tc.wantErr == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.wantErr)
			}
			assert.Equal(t, tc.counted, s.counted("unanswered"))
			assert.Zero(t, s.counted("filled"))
			assert.EqualValues(t, 1, *s.deployment("d").Spec.Replicas)
			tc.mend(s)
			require.NoError(t, s.look("d"))
			assert.EqualValues(t, 2, *s.deployment("d").Spec.Replicas)
			assert.Equal(t, 1., s.counted("filled"))
		})
	}
}

func TestThePace(t *testing.T) {
	s := newScene(t, "", lws("a"), lws("b"), lws("c", replicas(0)))
	s.options.Config.Interval = &metav1.Duration{Duration: never}
	s.restart()
	require.NoError(t, s.look("c"), "what lacks nothing takes no turn")
	require.NoError(t, s.look("a"))
	require.Error(t, s.look("b"), "its turn comes later")
	require.NoError(t, s.look("a"), "nor does what was filled in")
	assert.Equal(t, []string{"a"}, s.patched)
	// EnvoyProxies take turns with Deployments.
	proxy := newEnvoyProxy()
	proxy.SetNamespace("modelplane-system")
	proxy.SetName("cluster-gateway")
	require.NoError(t, s.client.Create(t.Context(), proxy))
	ctx, cancel := context.WithTimeout(t.Context(), never/2)
	defer cancel()
	_, err := s.touch.envoyProxy(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(proxy)})
	require.Error(t, err)
	assert.Equal(t, []string{"a"}, s.patched)
}

func TestRetriesSlowDownToOneAMinute(t *testing.T) {
	pace, one, other := retries(), reconcile.Request{}, requestFor("other")
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		assert.Equal(t, want*time.Second, pace.When(one))
	}
	assert.Equal(t, time.Second, pace.When(other), "each object by itself")
	pace.Forget(one)
	assert.Equal(t, time.Second, pace.When(one))
}

func TestEnvoyProxies(t *testing.T) {
	s := newScene(t, "")
	for name, touches := range map[string]int{"cluster-gateway": 1, "mine": 0} {
		proxy := newEnvoyProxy()
		proxy.SetNamespace("modelplane-system")
		proxy.SetName(name)
		require.NoError(t, s.client.Create(t.Context(), proxy))
		for range 2 {
			_, err := s.touch.envoyProxy(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(proxy)})
			require.NoError(t, err, name)
		}
		assert.Len(t, s.patched, touches, name)
		s.patched = nil
	}
	_, err := s.touch.envoyProxy(t.Context(), requestFor("gone"))
	require.NoError(t, err)
}

// TestToldAgain is about what is told once: it is told again of another object by that name, and when it was otherwise
// in between.
func TestToldAgain(t *testing.T) {
	s := newScene(t, "", lws("d", byHand))
	const message = "Warning LeftAlone"
	require.NoError(t, s.look("d"))
	require.Contains(t, s.told(), message)
	require.NoError(t, s.look("d"))
	require.Empty(t, s.told())

	d := s.deployment("d")
	d.Spec.Replicas = ptr.To[int32](2)
	require.NoError(t, s.client.Update(t.Context(), d))
	require.NoError(t, s.look("d"))
	require.Empty(t, s.told())
	d.Spec.Replicas = ptr.To[int32](1)
	require.NoError(t, s.client.Update(t.Context(), d))
	require.NoError(t, s.look("d"))
	assert.Contains(t, s.told(), message, "scaled to one once more")

	require.NoError(t, s.client.Delete(t.Context(), d))
	require.NoError(t, s.client.Create(t.Context(), lws("d", byHand, func(d *appsv1.Deployment) { d.UID = "another" })))
	require.NoError(t, s.look("d"))
	assert.Contains(t, s.told(), message, "another one, whose predecessor's end was not seen")

	require.NoError(t, s.client.Delete(t.Context(), s.deployment("d")))
	require.NoError(t, s.look("d"))
	assert.Empty(t, s.touch.told, "what is gone is forgotten")
}

func TestByAutoscaler(t *testing.T) {
	assert.Equal(t, []reconcile.Request{requestFor("d")}, byAutoscaler(t.Context(), autoscaler("hpa", "d")))
	set := autoscaler("hpa", "d")
	set.Spec.ScaleTargetRef.Kind = "StatefulSet"
	assert.Empty(t, byAutoscaler(t.Context(), set))
}

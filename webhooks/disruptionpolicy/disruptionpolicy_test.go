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

package disruptionpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func deployment(namespace, name, tier string, replicas int32) *modelplane.ModelDeployment {
	d := &modelplane.ModelDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"tier": tier}}}
	d.Spec.Replicas = replicas
	return d
}

func policy(name, tier string, settings evenkeel.DisruptionSettings) *evenkeel.DisruptionPolicy {
	p := &evenkeel.DisruptionPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name}}
	p.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}
	p.Spec.DisruptionSettings = settings
	return p
}

func unavailable(n string) evenkeel.DisruptionSettings {
	return evenkeel.DisruptionSettings{MaxUnavailable: ptr.To(intstr.Parse(n))}
}

func adviser(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) *Adviser {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, modelplane.AddToScheme(scheme))
	require.NoError(t, evenkeel.AddToScheme(scheme))
	return &Adviser{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()}
}

func ask(t *testing.T, a *Adviser, p *evenkeel.DisruptionPolicy) []string {
	t.Helper()
	r := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: admissionv1.Create, Namespace: "prod"}}
	var err error
	r.Object.Raw, err = json.Marshal(p)
	require.NoError(t, err)
	response := a.Handle(t.Context(), r)
	assert.True(t, response.Allowed)
	return response.Warnings
}

func TestWarnings(t *testing.T) {
	madeBefore := unavailable("0")
	madeBefore.Strategy = evenkeel.StrategyMakeBeforeBreak
	fleet := []client.Object{
		deployment("prod", "chat", "gold", 3), deployment("prod", "embed", "gold", 1), deployment("prod", "batch", "lead", 5), deployment("other", "theirs", "gold", 2),
	}
	with := func(more ...client.Object) []client.Object {
		return append(append([]client.Object(nil), fleet...), more...)
	}
	for name, tc := range map[string]struct {
		policy  *evenkeel.DisruptionPolicy
		objects []client.Object
		want    []string
	}{
		"room":               {policy("p", "gold", unavailable("1")), fleet, nil},
		"a share":            {policy("p", "gold", unavailable("1%")), fleet, nil},
		"nothing said":       {policy("p", "gold", evenkeel.DisruptionSettings{Paused: ptr.To(true)}), fleet, nil},
		"made before":        {policy("p", "gold", madeBefore), fleet, nil},
		"none":               {policy("p", "gold", unavailable("0")), fleet, []string{`DisruptionPolicy "p": maxUnavailable 0 lets no replica move (of 2 of the 2 ModelDeployments that it selects: chat (replicas: 3), embed (replicas: 1)), so a drain of their clusters does not end; allow at least 1, or choose strategy MakeBeforeBreak`}},
		"no share":           {policy("p", "lead", unavailable("0%")), fleet, []string{`DisruptionPolicy "p": maxUnavailable 0% lets no replica move (of 1 of the 1 ModelDeployments that it selects: batch (replicas: 5)), so a drain of their clusters does not end; allow at least 1, or choose strategy MakeBeforeBreak`}},
		"nobody selected":    {policy("p", "iron", unavailable("0")), fleet, []string{`DisruptionPolicy "p": maxUnavailable 0 lets no replica move (of the ModelDeployments that it selects, none now), so a drain of their clusters does not end; allow at least 1, or choose strategy MakeBeforeBreak`}},
		"saved by another":   {policy("p", "gold", unavailable("0")), with(policy("q", "gold", madeBefore)), nil},
		"its own older self": {policy("p", "gold", unavailable("0")), with(policy("p", "gold", madeBefore)), []string{`DisruptionPolicy "p": maxUnavailable 0 lets no replica move (of 2 of the 2 ModelDeployments that it selects: chat (replicas: 3), embed (replicas: 1)), so a drain of their clusters does not end; allow at least 1, or choose strategy MakeBeforeBreak`}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, ask(t, adviser(t, interceptor.Funcs{}, tc.objects...), tc.policy))
		})
	}
}

func TestTheManagersDefaultCounts(t *testing.T) {
	a := adviser(t, interceptor.Funcs{}, deployment("prod", "chat", "gold", 3))
	a.Defaults = &evenkeel.DisruptionSettings{Strategy: evenkeel.StrategyMakeBeforeBreak}
	assert.Empty(t, ask(t, a, policy("p", "gold", unavailable("0"))))
}

func TestInDoubtNothingIsSaid(t *testing.T) {
	broken := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("the cache is not there")
	}}
	assert.Empty(t, ask(t, adviser(t, broken), policy("p", "gold", unavailable("0"))))
	response := adviser(t, interceptor.Funcs{}).Handle(t.Context(), admission.Request{})
	assert.True(t, response.Allowed)
}

func TestManyNamesAreCut(t *testing.T) {
	assert.Equal(t, "a, b, c, d, e and 1 more", some([]string{"f", "a", "b", "c", "d", "e"}))
}

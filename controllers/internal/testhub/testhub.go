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

// Package testhub is a hub in memory for the tests of the controllers of TrafficMaps. It notes every write, in order, lets
// the writer end at any of them, and merges what several managers apply to one status as an API server does. It has no
// assertions.
package testhub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gateway "sigs.k8s.io/gateway-api/apis/v1"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// Hub is the one that a controller under test works on.
type Hub struct {
	// Client is the controller's: its writes are noted.
	Client client.Client
	// Inner is everybody else's.
	Inner    client.WithWatch
	Recorder *events.FakeRecorder
	// Writes of the controller that were carried out, in order.
	Writes []string
	// Before is asked before a write is carried out, After once it was. An error is the write's answer.
	Before, After func(write string) error

	// applied has what each manager has applied to the status of each map.
	applied map[string]map[string]any
}

// New makes a hub. Indexes are added by add.
func New(add func(client.FieldIndexer) error, objects ...client.Object) (*Hub, error) {
	scheme := runtime.NewScheme()
	for _, known := range []func(*runtime.Scheme) error{corev1.AddToScheme, ome.AddToScheme, gateway.Install} {
		if err := known(scheme); err != nil {
			return nil, err
		}
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&ome.TrafficMap{}, &ome.InferenceService{})
	if add != nil {
		if err := add(indexer{builder}); err != nil {
			return nil, err
		}
	}
	h := &Hub{Inner: builder.Build(), Recorder: events.NewFakeRecorder(1000), applied: map[string]map[string]any{}}
	h.Client = interceptor.NewClient(h.Inner, interceptor.Funcs{
		Create: h.create, Update: h.update, Patch: h.patch, Delete: h.delete, SubResourceApply: h.apply,
	})
	return h, nil
}

type indexer struct{ builder *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, o client.Object, field string, values client.IndexerFunc) error {
	i.builder.WithIndex(o, field, values)
	return nil
}

// Events gives the events that were recorded since it was last called.
func (h *Hub) Events() []string {
	var all []string
	for {
		select {
		case e := <-h.Recorder.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

// Took gives the writes since it was last called.
func (h *Hub) Took() []string {
	writes := h.Writes
	h.Writes = nil
	return writes
}

// write carries a write out, unless the test has it fail.
func (h *Hub) write(what string, do func() error) error {
	if h.Before != nil {
		if err := h.Before(what); err != nil {
			return err
		}
	}
	if err := do(); err != nil {
		return err
	}
	h.Writes = append(h.Writes, what)
	if h.After != nil {
		return h.After(what)
	}
	return nil
}

// named is an object as the tests write it.
func (h *Hub) named(verb string, o client.Object) string {
	gvk, err := apiutil.GVKForObject(o, h.Inner.Scheme())
	if err != nil {
		return err.Error()
	}
	name := o.GetName()
	if cluster := o.GetLabels()["ome.io/placement-cluster"]; cluster != "" {
		name = cluster
	}
	return fmt.Sprintf("%s %s %s/%s", verb, gvk.Kind, o.GetNamespace(), name)
}

func (h *Hub) create(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
	return h.write(h.named("create", o), func() error {
		o.SetUID(types.UID("uid-of-" + o.GetName()))
		o.SetGeneration(1)
		return c.Create(ctx, o, options...)
	})
}

func (h *Hub) update(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
	return h.write(h.named("update", o), func() error {
		if tm, ok := o.(*ome.TrafficMap); ok {
			stored := &ome.TrafficMap{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), stored); err != nil {
				return err
			}
			if !equality.Semantic.DeepEqual(stored.Spec, tm.Spec) {
				tm.Generation = stored.Generation + 1
			}
		}
		return c.Update(ctx, o, options...)
	})
}

// patch is used for finalizers only.
func (h *Hub) patch(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	verb := "hold"
	if len(o.GetFinalizers()) == 0 {
		verb = "release"
	}
	return h.write(h.named(verb, o), func() error { return c.Patch(ctx, o, patch, options...) })
}

func (h *Hub) delete(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
	return h.write(h.named("delete", o), func() error {
		asked := (&client.DeleteOptions{}).ApplyOptions(options)
		stored := o.DeepCopyObject().(client.Object)
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), stored); err != nil {
			return err
		}
		if p := asked.Preconditions; p != nil && p.UID != nil && *p.UID != stored.GetUID() {
			return apierrors.NewConflict(ome.Resource(o.GetName()), o.GetName(), errors.New("another UID"))
		}
		return c.Delete(ctx, o, options...)
	})
}

// configuration is what the controllers apply.
type configuration interface {
	UnstructuredContent() map[string]any
	SetResourceVersion(string)
}

// apply merges what one manager applies to a map's status: its fields become these, and the conditions of others stay.
func (h *Hub) apply(ctx context.Context, c client.Client, _ string, o runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
	given, ok := o.(configuration)
	if !ok {
		return fmt.Errorf("a %T is applied", o)
	}
	content := given.UnstructuredContent()
	wanted, tm := &ome.TrafficMap{}, &ome.TrafficMap{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, wanted); err != nil {
		return err
	}
	asked := (&client.SubResourceApplyOptions{}).ApplyOpts(options)
	return h.write(fmt.Sprintf("status of %s/%s by %s: %s", wanted.Namespace, wanted.Name, asked.FieldManager, inShort(wanted.Status.Conditions)), func() error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(wanted), tm); err != nil {
			return err
		}
		if tm.UID != wanted.UID || tm.ResourceVersion != wanted.ResourceVersion {
			return apierrors.NewConflict(ome.Resource("trafficmaps"), tm.Name, errors.New("it has changed"))
		}
		if err := h.merge(tm, asked.FieldManager, content); err != nil {
			return err
		}
		err := c.Status().Update(ctx, tm)
		given.SetResourceVersion(tm.ResourceVersion)
		return err
	})
}

func (h *Hub) merge(tm *ome.TrafficMap, manager string, content map[string]any) error {
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&tm.Status)
	if err != nil {
		return err
	}
	key := tm.Namespace + "/" + tm.Name + " " + manager
	before, wanted := h.applied[key], content["status"].(map[string]any)
	conditions := slices.DeleteFunc(slices.Clone(tm.Status.Conditions), func(c metav1.Condition) bool { return slices.Contains(typesIn(before), c.Type) })
	maps.DeleteFunc(status, func(field string, _ any) bool { _, own := before[field]; return own })
	for field, value := range wanted {
		status[field] = value
	}
	delete(status, "conditions")
	tm.Status = ome.TrafficMapStatus{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &tm.Status); err != nil {
		return err
	}
	given := &ome.TrafficMap{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, given); err != nil {
		return err
	}
	for _, c := range given.Status.Conditions {
		meta.SetStatusCondition(&conditions, c)
	}
	tm.Status.Conditions = conditions
	h.applied[key] = runtime.DeepCopyJSON(wanted)
	return nil
}

// typesIn are the types of the conditions in a status.
func typesIn(status map[string]any) []string {
	conditions, _, _ := unstructured.NestedSlice(status, "conditions")
	var all []string
	for _, c := range conditions {
		all = append(all, fmt.Sprint(c.(map[string]any)["type"]))
	}
	return all
}

func inShort(conditions []metav1.Condition) string {
	var said string
	for _, c := range conditions {
		said += fmt.Sprintf(" %s=%s/%s", c.Type, c.Status, c.Reason)
	}
	return said
}

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

package simulation

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// store holds the objects of the hub in memory. They are replaced, never changed, and given out without copying. It is
// an API server as far as versions and UIDs go, and a cache with indexes to those who read.
type store struct {
	tables map[reflect.Type]cache.Indexer
	// whole lists of a kind that somebody has asked for and that has not changed since. The controller asks for all
	// clusters again and again.
	whole   map[reflect.Type]reflect.Value
	version int64
	// changed is called after each change with what was there before and what is there now; either may be nil.
	changed func(before, now client.Object) error
}

// firstVersion is beyond what a hub gives to its objects, so that a version tells which of two states is newer.
const firstVersion = 1 << 60

// simulatedUID begins the UIDs of objects that are made in the simulation.
const simulatedUID = "simulated-"

func newStore() *store {
	return &store{tables: map[reflect.Type]cache.Indexer{}, whole: map[reflect.Type]reflect.Value{}, version: firstVersion, changed: func(client.Object, client.Object) error { return nil }}
}

// table gives the objects of one kind, by the type of the struct.
func (s *store) table(kind reflect.Type) cache.Indexer {
	t := s.tables[kind]
	if t == nil {
		t = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
		s.tables[kind] = t
	}
	return t
}

func kindOf(o client.Object) reflect.Type { return reflect.TypeOf(o).Elem() }

func keyOf(namespace, name string) string {
	return types.NamespacedName{Namespace: namespace, Name: name}.String()
}

// next gives a resource version, which also serves as a UID.
func (s *store) next() string {
	s.version++
	return strconv.FormatInt(s.version, 10)
}

// load takes over an object as it is.
func (s *store) load(o client.Object) error {
	delete(s.whole, kindOf(o))
	return s.table(kindOf(o)).Add(o)
}

// put creates or replaces an object, which gets the next version.
func (s *store) put(o client.Object) error {
	before := s.find(kindOf(o), o.GetNamespace(), o.GetName())
	o.SetResourceVersion(s.next())
	if o.GetUID() == "" {
		o.SetUID(types.UID(simulatedUID + o.GetResourceVersion()))
	}
	delete(s.whole, kindOf(o))
	if err := s.table(kindOf(o)).Update(o); err != nil {
		return err
	}
	return s.changed(before, o)
}

func (s *store) remove(o client.Object) error {
	before := s.find(kindOf(o), o.GetNamespace(), o.GetName())
	if before == nil {
		return nil
	}
	delete(s.whole, kindOf(o))
	if err := s.table(kindOf(o)).Delete(before); err != nil {
		return err
	}
	return s.changed(before, nil)
}

func (s *store) find(kind reflect.Type, namespace, name string) client.Object {
	key := name
	if namespace != "" {
		key = keyOf(namespace, name)
	}
	o, found, err := s.table(kind).GetByKey(key)
	if err != nil || !found {
		return nil
	}
	return o.(client.Object)
}

// get gives the object of a name, nil where there is none.
func get[T any](s *store, namespace, name string) *T {
	o := s.find(reflect.TypeFor[T](), namespace, name)
	if o == nil {
		return nil
	}
	return any(o).(*T)
}

// all gives the objects of a kind, in no order.
func all[T any](s *store) []*T {
	objects := s.table(reflect.TypeFor[T]()).List()
	out := make([]*T, 0, len(objects))
	for _, o := range objects {
		out = append(out, o.(*T))
	}
	return out
}

// IndexField implements client.FieldIndexer.
func (s *store) IndexField(_ context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	return s.table(kindOf(o)).AddIndexers(cache.Indexers{field: func(obj any) ([]string, error) {
		return extract(obj.(client.Object)), nil
	}})
}

// Get implements client.Reader.
func (s *store) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found := s.find(kindOf(into), key.Namespace, key.Name)
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kindOf(into).Name()}, key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found).Elem())
	return nil
}

// List implements client.Reader. It knows a namespace and at most one index.
func (s *store) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := &client.ListOptions{}
	o.ApplyOptions(options)
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return err
	}
	into := reflect.ValueOf(items).Elem()
	kind := into.Type().Elem()
	if all := s.whole[kind]; all.IsValid() && whole(o) {
		into.Set(all)
		return nil
	}
	objects, err := s.listed(kind, o)
	if err != nil {
		return err
	}
	out := reflect.MakeSlice(into.Type(), 0, len(objects))
	for _, object := range objects {
		if o.Namespace == "" || object.(metav1.Object).GetNamespace() == o.Namespace {
			out = reflect.Append(out, reflect.ValueOf(object).Elem())
		}
	}
	into.Set(out)
	if whole(o) {
		s.whole[kind] = out
	}
	return nil
}

// whole tells whether all objects of a kind are asked for.
func whole(o *client.ListOptions) bool {
	return o.Namespace == "" && (o.FieldSelector == nil || o.FieldSelector.Empty())
}

func (s *store) listed(kind reflect.Type, o *client.ListOptions) ([]any, error) {
	if o.FieldSelector == nil || o.FieldSelector.Empty() {
		return s.table(kind).List(), nil
	}
	requirements := o.FieldSelector.Requirements()
	if len(requirements) != 1 {
		return nil, fmt.Errorf("list of %s by %d fields: one index at a time is all that a cache offers", kind.Name(), len(requirements))
	}
	return s.table(kind).ByIndex(requirements[0].Field, requirements[0].Value)
}

var _ client.Reader = &store{}
var _ client.FieldIndexer = &store{}

const indexReplicas = "simulation.evenkeel.io/deployment"

// indexReplicasByDeployment lets replicasOf find them.
func (s *store) indexReplicasByDeployment() error {
	return s.table(reflect.TypeFor[modelplane.ModelReplica]()).AddIndexers(cache.Indexers{indexReplicas: func(obj any) ([]string, error) {
		r := obj.(*modelplane.ModelReplica)
		return []string{keyOf(r.Namespace, r.Labels[modelplane.LabelDeployment])}, nil
	}})
}

// replicasOf gives the replicas that carry a deployment's name, in no order.
func (s *simulation) replicasOf(deployment types.NamespacedName) []*modelplane.ModelReplica {
	objects, err := s.store.table(reflect.TypeFor[modelplane.ModelReplica]()).ByIndex(indexReplicas, deployment.String())
	if err != nil {
		return nil // the index is always there
	}
	out := make([]*modelplane.ModelReplica, 0, len(objects))
	for _, o := range objects {
		out = append(out, o.(*modelplane.ModelReplica))
	}
	return out
}

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

package follow

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Source keeps what a drain is about up to date by watches.
type Source struct {
	cluster                                     string
	clusters, replicas, placements, deployments cache.SharedIndexInformer
	changed                                     chan struct{}
	fail                                        context.CancelCauseFunc
	done                                        sync.WaitGroup
}

// NewSource lists and watches until the context ends. It returns once all is listed; the error is
// the API server's if something may not be read. The context that it gives ends, with the cause, when
// that happens later.
func NewSource(ctx context.Context, client dynamic.Interface, cluster string) (*Source, context.Context, error) {
	ctx, fail := context.WithCancelCause(ctx)
	s := &Source{cluster: cluster, changed: make(chan struct{}, 1), fail: fail}
	s.clusters = newInformer[modelplane.InferenceCluster](s, client, modelplane.GroupVersion.WithResource("inferenceclusters"),
		func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=" + cluster })
	s.replicas = newInformer[modelplane.ModelReplica](s, client, modelplane.GroupVersion.WithResource("modelreplicas"),
		func(o *metav1.ListOptions) { o.LabelSelector = modelplane.LabelCluster + "=" + cluster })
	s.placements = newInformer[evenkeel.ReplicaPlacement](s, client, evenkeel.GroupVersion.WithResource("replicaplacements"), nil)
	s.deployments = newInformer[modelplane.ModelDeployment](s, client, modelplane.GroupVersion.WithResource("modeldeployments"), nil)
	synced := make([]cache.InformerSynced, 0, 4)
	for _, informer := range []cache.SharedIndexInformer{s.clusters, s.replicas, s.placements, s.deployments} {
		s.done.Go(func() { informer.RunWithContext(ctx) })
		synced = append(synced, informer.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, ctx, context.Cause(ctx)
	}
	return s, ctx, nil
}

// Stop ends the watches and waits until they have ended.
func (s *Source) Stop() {
	s.fail(nil)
	s.done.Wait()
}

func newInformer[T any](s *Source, client dynamic.Interface, resource schema.GroupVersionResource, tweak func(*metav1.ListOptions)) cache.SharedIndexInformer {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, resource, metav1.NamespaceAll, 0, cache.Indexers{}, tweak).Informer()
	// None of these fails for an informer that does not run yet.
	_ = informer.SetTransform(func(o any) (any, error) {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return o, nil
		}
		typed := new(T)
		return typed, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed)
	})
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		// Anything else passes, and is tried again.
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) {
			s.fail(fmt.Errorf("watch %s: %w", resource.Resource, err))
		}
	})
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.touch() },
		UpdateFunc: func(any, any) { s.touch() },
		DeleteFunc: func(any) { s.touch() },
	})
	return informer
}

func (s *Source) touch() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Changed tells that a new snapshot may differ from the last one.
func (s *Source) Changed() <-chan struct{} { return s.changed }

// Snapshot is what is known now. Its objects are shared and must not be changed.
func (s *Source) Snapshot() *Snapshot {
	snapshot := &Snapshot{Deployments: map[types.NamespacedName]*modelplane.ModelDeployment{}}
	for _, c := range listed[*modelplane.InferenceCluster](s.clusters) {
		snapshot.Cluster = c
	}
	snapshot.Replicas = listed[*modelplane.ModelReplica](s.replicas)
	snapshot.Placements = listed[*evenkeel.ReplicaPlacement](s.placements)
	for _, d := range listed[*modelplane.ModelDeployment](s.deployments) {
		snapshot.Deployments[types.NamespacedName{Namespace: d.Namespace, Name: d.Name}] = d
	}
	return snapshot
}

func listed[T any](informer cache.SharedIndexInformer) []T {
	stored := informer.GetStore().List()
	list := make([]T, 0, len(stored))
	for _, o := range stored {
		if typed, ok := o.(T); ok {
			list = append(list, typed)
		}
	}
	return list
}

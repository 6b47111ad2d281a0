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

// Package fleet reads what a simulation needs: the objects from a hub, and from files the settings of the programs that act
// on it. It must only read.
package fleet

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/simulation"
)

// Read lists the fleet, all kinds at once. ModelCaches may be missing on a hub.
func Read(ctx context.Context, client *cli.Client) (*simulation.Snapshot, error) {
	s := &simulation.Snapshot{Now: time.Now()}
	group, ctx := errgroup.WithContext(ctx)
	list(ctx, group, client, modelplane.GroupVersion.WithResource("inferenceclusters"), &s.Clusters)
	list(ctx, group, client, modelplane.GroupVersion.WithResource("modeldeployments"), &s.Deployments)
	list(ctx, group, client, modelplane.GroupVersion.WithResource("modelreplicas"), &s.Replicas)
	list(ctx, group, client, modelplane.GroupVersion.WithResource("modelendpoints"), &s.Endpoints)
	list(ctx, group, client, evenkeel.GroupVersion.WithResource("replicaplacements"), &s.Placements)
	list(ctx, group, client, evenkeel.GroupVersion.WithResource("disruptionpolicies"), &s.Policies)
	list(ctx, group, client, schedulingv1.SchemeGroupVersion.WithResource("priorityclasses"), &s.PriorityClasses)
	group.Go(func() (err error) {
		s.Caches, err = cli.List[modelplane.ModelCache](ctx, client, modelplane.GroupVersion.WithResource("modelcaches"), metav1.NamespaceAll, metav1.ListOptions{})
		if cli.NotServed(err) {
			return nil
		}
		s.ServesCaches = true
		return listError("modelcaches", err)
	})
	return s, group.Wait()
}

func list[T any](ctx context.Context, group *errgroup.Group, client *cli.Client, resource schema.GroupVersionResource, into *[]T) {
	group.Go(func() (err error) {
		*into, err = cli.List[T](ctx, client, resource, metav1.NamespaceAll, metav1.ListOptions{})
		return listError(resource.Resource, err)
	})
}

func listError(resource string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("list %s: %w", resource, err)
}

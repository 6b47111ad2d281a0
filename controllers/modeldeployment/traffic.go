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

package modeldeployment

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// traffic reads which services select the deployment's endpoints, and which of these a route names. Nil on a hub that
// serves no ModelServices or no HTTPRoutes.
func (r *Reconciler) traffic(ctx context.Context, o *replicas.Observation) (*replicas.Traffic, error) {
	if !r.Serves.Traffic {
		return nil, nil
	}
	t := &replicas.Traffic{Backends: map[types.NamespacedName]bool{}}
	for _, e := range o.Endpoints {
		backend, ok := backendOf(e)
		if !ok {
			continue
		}
		routes := &gatewayv1.HTTPRouteList{}
		if err := r.Client.List(ctx, routes, client.MatchingFields{indexBackend: backend.String()}, client.UnsafeDisableDeepCopy, client.Limit(1)); err != nil {
			return nil, fmt.Errorf("list the routes to %s: %w", backend, err)
		}
		t.Backends[backend] = len(routes.Items) > 0
	}
	t.Unrouted = r.unrouted.since(client.ObjectKeyFromObject(o.Deployment), t.Backends, o.Now)
	var err error
	t.Services, err = r.servicesFor(ctx, o)
	return t, err
}

// servicesFor lists the services that could select one of the deployment's endpoints, those that it has and those that
// it will have. They are found by one of the labels that they select by.
func (r *Reconciler) servicesFor(ctx context.Context, o *replicas.Observation) ([]*modelplane.ModelService, error) {
	pairs := map[string]bool{everything: true}
	add := func(labels map[string]string) {
		for k, v := range labels {
			pairs[pair(k, v)] = true
		}
	}
	if m := o.Deployment.Spec.Template.Metadata; m != nil {
		add(m.Labels)
	}
	add(map[string]string{modelplane.LabelDeployment: o.Deployment.Name})
	for _, p := range o.Placements {
		if a := p.Status.Assignment; a != nil {
			add(map[string]string{modelplane.LabelCluster: a.ClusterName, modelplane.LabelReplicaIndex: fmt.Sprint(a.Index)})
		}
	}
	for _, e := range o.Endpoints {
		add(e.Labels)
	}
	found := map[types.NamespacedName]*modelplane.ModelService{}
	for _, p := range slices.Sorted(maps.Keys(pairs)) {
		list := &modelplane.ModelServiceList{}
		if err := r.Client.List(ctx, list, client.MatchingFields{indexSelects: p}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list the services that select %s: %w", p, err)
		}
		for _, service := range pointers(list.Items) {
			found[client.ObjectKeyFromObject(service)] = r.withLastRequest(service)
		}
	}
	return slices.Collect(maps.Values(found)), nil
}

// hurryService asks whoever composes a service to look at it now.
func (r *Reconciler) hurryService(ctx context.Context, a replicas.HurryService) error {
	at := a.At.UTC().Format(time.RFC3339Nano)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":         a.Service.UID,
		"annotations": map[string]string{modelplane.AnnotationReconcileRequestedAt: at},
	}})
	if err != nil {
		return err
	}
	service := &modelplane.ModelService{}
	service.Namespace, service.Name = a.Service.Namespace, a.Service.Name
	if err := r.Client.Patch(ctx, service, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldManager)); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.requested.Store(a.Service.UID, at)
	return nil
}

// withLastRequest gives a service with what was last asked of it, which the cache may not show yet.
func (r *Reconciler) withLastRequest(service *modelplane.ModelService) *modelplane.ModelService {
	at, found := r.requested.Load(service.UID)
	if !found || service.Annotations[modelplane.AnnotationReconcileRequestedAt] == at {
		return service
	}
	service = service.DeepCopy()
	if service.Annotations == nil {
		service.Annotations = map[string]string{}
	}
	service.Annotations[modelplane.AnnotationReconcileRequestedAt] = at.(string)
	return service
}

// unrouted remembers since when no route has named the backends of a deployment's endpoints. A process that starts anew
// begins anew: all that can come of it is that a replica on its way out gets more time for its requests.
type unrouted struct {
	mu           sync.Mutex
	byDeployment map[types.NamespacedName]map[types.NamespacedName]time.Time
}

// since tells since when no route has named each of the backends that none names now.
func (u *unrouted) since(key types.NamespacedName, backends map[types.NamespacedName]bool, now time.Time) map[types.NamespacedName]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	since := map[types.NamespacedName]time.Time{}
	for backend, routed := range backends {
		if routed {
			continue
		}
		since[backend] = now
		if known, found := u.byDeployment[key][backend]; found {
			since[backend] = known
		}
	}
	if u.byDeployment == nil {
		u.byDeployment = map[types.NamespacedName]map[types.NamespacedName]time.Time{}
	}
	u.byDeployment[key] = since
	if len(since) == 0 {
		delete(u.byDeployment, key)
	}
	return since
}

func (u *unrouted) forget(key types.NamespacedName) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.byDeployment, key)
}

// everything is what a service selects whose group of endpoints has no labels.
const everything = "*"

func pair(key, value string) string { return key + "=" + value }

// selectedPairs gives, for each group of a service's endpoints, one label that it selects by: whatever the group selects
// has that label.
func selectedPairs(o client.Object) []string {
	var pairs []string
	for _, g := range o.(*modelplane.ModelService).Spec.Endpoints {
		p := everything
		if keys := slices.Sorted(maps.Keys(g.Selector.MatchLabels)); len(keys) > 0 {
			p = pair(keys[0], g.Selector.MatchLabels[keys[0]])
		}
		if !slices.Contains(pairs, p) {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// backendOf gives the Service that a route names to reach an endpoint, once there is one.
func backendOf(e *modelplane.ModelEndpoint) (types.NamespacedName, bool) {
	if e.Status.Routing == nil || e.Status.Routing.BackendName == "" {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: e.Namespace, Name: e.Status.Routing.BackendName}, true
}

func endpointBackend(o client.Object) []string {
	if backend, ok := backendOf(o.(*modelplane.ModelEndpoint)); ok {
		return []string{backend.String()}
	}
	return nil
}

// routeBackends gives the Services that a route names.
func routeBackends(o client.Object) []string {
	route := o.(*gatewayv1.HTTPRoute)
	var backends []string
	for i := range route.Spec.Rules {
		for j := range route.Spec.Rules[i].BackendRefs {
			ref := &route.Spec.Rules[i].BackendRefs[j]
			if ref.Kind != nil && *ref.Kind != "Service" {
				continue
			}
			backend := types.NamespacedName{Namespace: route.Namespace, Name: string(ref.Name)}
			if ref.Namespace != nil {
				backend.Namespace = string(*ref.Namespace)
			}
			if !slices.Contains(backends, backend.String()) {
				backends = append(backends, backend.String())
			}
		}
	}
	return backends
}

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

package app

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gateway "sigs.k8s.io/gateway-api/apis/v1"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/controllers/trafficmap"
	"github.com/evenkeel-io/evenkeel/controllers/trafficmap/probe"
	"github.com/evenkeel-io/evenkeel/controllers/trafficpublisher"
)

// withoutFieldOwners has the cache forget who wrote which field of the kinds that TrafficMaps are about: nobody here asks,
// and of a map with many clusters it is as large as the rest. A write without it leaves it as it is. A cache cannot have a
// setting for a kind that the hub does not serve.
func withoutFieldOwners(hub *hubKinds, options *ctrl.Options) error {
	missing, err := hub.notServed(ome.Resource("trafficmaps"), ome.Resource("inferenceservices"))
	if err != nil || len(missing) > 0 {
		return err
	}
	lean := cache.ByObject{Transform: cache.TransformStripManagedFields()}
	options.Cache.ByObject = map[client.Object]cache.ByObject{&ome.TrafficMap{}: lean, &ome.InferenceService{}: lean}
	return nil
}

// setupTrafficMaps registers the controllers of TrafficMaps if they are switched on. Unlike what is on by default, they
// end the manager where they cannot work: somebody has asked for them.
func setupTrafficMaps(ctx context.Context, mgr ctrl.Manager, hub *hubKinds, config *configapi.TrafficMapController) error {
	if !*config.Enabled {
		return nil
	}
	missing, err := hub.notServed(ome.Resource("inferenceservices"), ome.Resource("trafficmaps"))
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("trafficMap.enabled is set, but the hub does not serve %v: install OME's CustomResourceDefinitions, or switch it off", missing)
	}
	routes := schema.GroupResource{Group: gateway.GroupName, Resource: "httproutes"}
	withoutRoutes, err := hub.notServed(routes)
	if err != nil {
		return err
	}
	servesRoutes := len(withoutRoutes) == 0
	if config.Gateway != nil && !servesRoutes {
		return fmt.Errorf("trafficMap.gateway is set, but the hub does not serve %s of %s: install Gateway API, or leave the gateway out", routes, gateway.GroupVersion)
	}
	if err := watchOMERouting(ctx, mgr, config.OMENamespace); err != nil {
		return err
	}
	err = trafficmap.Setup(ctx, mgr, trafficmap.Options{
		MaxConcurrentReconciles: int(*config.MaxConcurrentReconciles),
		Probe:                   probePolicy(config.Probe),
	})
	if err != nil {
		return err
	}
	options := trafficpublisher.Options{ServesRoutes: servesRoutes, MaxConcurrentReconciles: int(*config.MaxConcurrentReconciles)}
	if g := config.Gateway; g != nil {
		options.ResyncInterval = g.ResyncInterval.Duration
		options.Gateway = &trafficpublisher.Gateway{
			Namespace: g.Namespace, Name: g.Name, BackendPort: g.BackendPort, HostTemplate: g.HostTemplate,
			RouteNamespace: g.RouteNamespace, RewriteHostname: g.RewriteHostname,
		}
	}
	return trafficpublisher.Setup(ctx, mgr, options)
}

func probePolicy(p *configapi.TrafficMapProbe) *probe.Policy {
	if p == nil {
		return nil
	}
	return &probe.Policy{
		Path: p.Path, Method: p.Method,
		AcceptStatuses: p.AcceptStatuses, GateStatuses: p.GateStatuses,
		Period: p.Period.Duration, Timeout: p.Timeout.Duration,
		FailureThreshold: p.FailureThreshold, SuccessThreshold: p.SuccessThreshold,
		AllFailed: ome.AllFailedPolicy(p.AllFailedPolicy),
	}
}

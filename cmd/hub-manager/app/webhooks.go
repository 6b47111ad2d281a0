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

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/webhooks/clusterdelete"
	"github.com/evenkeel-io/evenkeel/webhooks/disruptionpolicy"
	"github.com/evenkeel-io/evenkeel/webhooks/serving"
	"github.com/evenkeel-io/evenkeel/webhooks/tainttime"
	"github.com/evenkeel-io/evenkeel/webhooks/trafficdrain"
)

// prepareWebhooks has the manager that the options are for serve webhooks. It returns nil where none are to be served.
func prepareWebhooks(config *configapi.HubWebhooks, options *ctrl.Options) (*serving.Server, error) {
	if config.BindAddress == configapi.NoAddress {
		return nil, nil
	}
	server, err := serving.New(serving.Options{
		BindAddress: config.BindAddress,
		Namespace:   config.Namespace,
		Service:     config.Service,
		Secret:      config.Secret,
		Validating:  config.Configuration,
		Mutating:    config.Configuration,
	})
	if err != nil {
		return nil, err
	}
	server.ManagerOptions(options)
	return server, nil
}

// setupWebhooks registers each webhook if the hub serves the kinds that it needs.
func setupWebhooks(ctx context.Context, mgr ctrl.Manager, hub *hubKinds, server *serving.Server, config *configapi.HubManagerConfiguration) error {
	if server == nil {
		return nil
	}
	if err := server.Setup(mgr); err != nil {
		return err
	}
	if err := setupTrafficDrainGuard(ctx, mgr, hub, config.Webhooks.TrafficDrain); err != nil {
		return err
	}
	return setupFleetWebhooks(ctx, mgr, hub, &config.ModelDeployments.Disruption)
}

// setupFleetWebhooks registers those about Modelplane's kinds. The API server goes on without them where they are not
// served.
func setupFleetWebhooks(ctx context.Context, mgr ctrl.Manager, hub *hubKinds, defaults *evenkeel.DisruptionSettings) error {
	for _, w := range []struct {
		needs []schema.GroupResource
		setup func() error
	}{
		{[]schema.GroupResource{modelplane.Resource("inferenceclusters")}, func() error { return tainttime.Setup(mgr) }},
		{[]schema.GroupResource{modelplane.Resource("inferenceclusters"), modelplane.Resource("modelreplicas")},
			func() error { return clusterdelete.Setup(ctx, mgr) }},
		{[]schema.GroupResource{modelplane.Resource("modeldeployments"), evenkeel.Resource("disruptionpolicies")},
			func() error { return disruptionpolicy.Setup(ctx, mgr, defaults) }},
	} {
		missing, err := hub.notServed(w.needs...)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			continue
		}
		if err := w.setup(); err != nil {
			return err
		}
	}
	return nil
}

func setupTrafficDrainGuard(ctx context.Context, mgr ctrl.Manager, hub *hubKinds, config configapi.TrafficDrainGuard) error {
	missing, err := hub.notServed(ome.Resource("inferenceservices"), ome.Resource("trafficmaps"), ome.Resource("workloadclusters"))
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		mgr.GetLogger().Info("The hub does not serve all that traffic drains need: their guard refuses every drain. Install what is missing and restart",
			"missing", missing)
		trafficdrain.SetupUnserved(mgr, missing)
		return nil
	}
	return trafficdrain.Setup(ctx, mgr, config)
}

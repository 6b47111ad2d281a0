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

	ctrl "sigs.k8s.io/controller-runtime"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/webhooks/serving"
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
func setupWebhooks(ctx context.Context, mgr ctrl.Manager, server *serving.Server, config *configapi.HubWebhooks) error {
	if server == nil {
		return nil
	}
	if err := server.Setup(mgr); err != nil {
		return err
	}
	return setupTrafficDrainGuard(ctx, mgr, config.TrafficDrain)
}

func setupTrafficDrainGuard(ctx context.Context, mgr ctrl.Manager, config configapi.TrafficDrainGuard) error {
	missing, err := notServed(mgr.GetConfig(),
		ome.Resource("inferenceservices"), ome.Resource("trafficmaps"), ome.Resource("workloadclusters"))
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

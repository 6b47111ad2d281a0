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

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	gateway "sigs.k8s.io/gateway-api/apis/v1"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/controllers/inferencecluster"
	"github.com/evenkeel-io/evenkeel/controllers/modeldeployment"
	"github.com/evenkeel-io/evenkeel/internal/managercommand"
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, schedulingv1.AddToScheme, gateway.Install, modelplane.AddToScheme, evenkeel.AddToScheme, ome.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

func run(ctx context.Context, connection *rest.Config, config *configapi.HubManagerConfiguration) error {
	options := managercommand.ManagerOptions(newScheme(), &config.LeaderElection, config.HealthBindAddress, config.MetricsBindAddress)
	hub, err := newHubKinds(connection)
	if err != nil {
		return err
	}
	if err := withoutFieldOwners(hub, &options); err != nil {
		return err
	}
	webhooks, err := prepareWebhooks(&config.Webhooks, &options)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(connection, options)
	if err != nil {
		return fmt.Errorf("create the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := setupModelDeployments(ctx, mgr, hub, &config.ModelDeployments); err != nil {
		return err
	}
	if err := setupInferenceClusters(ctx, mgr, hub, &config.InferenceClusters); err != nil {
		return err
	}
	if err := setupTrafficMaps(ctx, mgr, hub, &config.TrafficMap); err != nil {
		return err
	}
	if err := setupWebhooks(ctx, mgr, hub, webhooks, config); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// setupInferenceClusters registers the controller if the hub serves the kinds that it reads. What is missing was told
// about ModelDeployments, which need the same.
func setupInferenceClusters(ctx context.Context, mgr ctrl.Manager, hub *hubKinds, config *configapi.InferenceClusterController) error {
	missing, err := hub.notServed(modelplane.Resource("inferenceclusters"), modelplane.Resource("modelreplicas"),
		modelplane.Resource("modeldeployments"), evenkeel.Resource("replicaplacements"))
	if err != nil || len(missing) > 0 {
		return err
	}
	return inferencecluster.Setup(ctx, mgr, inferencecluster.Options{StuckAfter: config.StuckAfter.Duration})
}

// setupModelDeployments registers the controller if the hub serves the kinds that it needs.
func setupModelDeployments(ctx context.Context, mgr ctrl.Manager, hub *hubKinds, config *configapi.ModelDeploymentController) error {
	missing, err := hub.notServed(modelplane.Resource("modeldeployments"), modelplane.Resource("modelreplicas"), modelplane.Resource("modelendpoints"),
		modelplane.Resource("inferenceclusters"), evenkeel.Resource("replicaplacements"), evenkeel.Resource("disruptionpolicies"))
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		mgr.GetLogger().Info("The hub does not serve all that ModelDeployments need: leaving them alone. Install what is missing and restart",
			"controller", modeldeployment.Name, "missing", missing)
		return nil
	}
	withoutCaches, err := hub.notServed(modelplane.Resource("modelcaches"))
	if err != nil {
		return err
	}
	options := modeldeployment.OptionsFrom(config)
	withoutTraffic, err := hub.notServed(modelplane.Resource("modelservices"),
		schema.GroupResource{Group: gateway.GroupName, Resource: "httproutes"})
	if err != nil {
		return err
	}
	options.Serves = modeldeployment.Serves{Caches: len(withoutCaches) == 0, Traffic: len(withoutTraffic) == 0}
	return modeldeployment.Setup(ctx, mgr, options)
}

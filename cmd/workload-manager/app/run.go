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

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/controllers/disruptionbudget"
	"github.com/evenkeel-io/evenkeel/controllers/spread"
	"github.com/evenkeel-io/evenkeel/controllers/touch"
	"github.com/evenkeel-io/evenkeel/internal/managercommand"
	"github.com/evenkeel-io/evenkeel/internal/servingpath"
	"github.com/evenkeel-io/evenkeel/webhooks/serving"
	servingpathwebhook "github.com/evenkeel-io/evenkeel/webhooks/servingpath"
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, autoscalingv2.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

func run(ctx context.Context, connection *rest.Config, config *configapi.ServingPathConfiguration) error {
	catalogue, err := servingpath.New(config)
	if err != nil {
		return fmt.Errorf("invalid ServingPathConfiguration: %w", err)
	}
	server, err := serving.New(serving.Options{
		BindAddress: config.Webhooks.BindAddress,
		Namespace:   config.Webhooks.Namespace,
		Service:     config.Webhooks.Service,
		Secret:      config.Webhooks.Secret,
		Mutating:    config.Webhooks.Configuration,
	})
	if err != nil {
		return err
	}
	options := managerOptions(config)
	server.ManagerOptions(&options)
	mgr, err := ctrl.NewManager(connection, options)
	if err != nil {
		return fmt.Errorf("create the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := setup(mgr, server, catalogue, config); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func managerOptions(config *configapi.ServingPathConfiguration) ctrl.Options {
	options := managercommand.ManagerOptions(newScheme(), &config.LeaderElection, config.HealthBindAddress, config.MetricsBindAddress)
	options.Client = client.Options{Cache: &client.CacheOptions{Unstructured: true}}
	options.Cache = cache.Options{ByObject: map[client.Object]cache.ByObject{
		// A cluster has many pods, and nobody here asks who has set which of their fields.
		&corev1.Pod{}: {Transform: cache.TransformStripManagedFields()},
	}}
	return options
}

func setup(mgr ctrl.Manager, server *serving.Server, catalogue *servingpath.Catalogue, config *configapi.ServingPathConfiguration) error {
	if err := server.Setup(mgr); err != nil {
		return err
	}
	mgr.GetWebhookServer().Register(servingpathwebhook.Path, &webhook.Admission{
		Handler: &servingpathwebhook.Handler{Catalogue: catalogue, Reader: mgr.GetClient()},
	})
	calls := &servingpathwebhook.CallsReconciler{Client: mgr.GetClient(), Catalogue: catalogue, Namespace: config.Webhooks.Namespace}
	if err := calls.Setup(mgr); err != nil {
		return err
	}
	// The webhook asks for autoscalers from its first call on, on every replica.
	if _, err := mgr.GetCache().GetInformer(context.Background(), &autoscalingv2.HorizontalPodAutoscaler{}); err != nil {
		return fmt.Errorf("watch HorizontalPodAutoscalers: %w", err)
	}
	served, err := servesEnvoyProxies(mgr.GetConfig())
	if err != nil {
		return err
	}
	if err := touch.Setup(mgr, touch.Options{Catalogue: catalogue, Config: config.Touch, EnvoyProxies: served}); err != nil {
		return err
	}
	if err := disruptionbudget.Setup(mgr, catalogue); err != nil {
		return err
	}
	return spread.Setup(mgr, catalogue, config.Rebalance)
}

// servesEnvoyProxies tells whether Envoy Gateway's kinds are installed.
func servesEnvoyProxies(connection *rest.Config) (bool, error) {
	discovery, err := discovery.NewDiscoveryClientForConfig(connection)
	if err != nil {
		return false, err
	}
	list, err := discovery.ServerResourcesForGroupVersion(servingpath.EnvoyProxyKind.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask the cluster whether it serves EnvoyProxies: %w", err)
	}
	for i := range list.APIResources {
		if list.APIResources[i].Kind == servingpath.EnvoyProxyKind.Kind {
			return true, nil
		}
	}
	return false, nil
}

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

package standin

import (
	"context"
	"errors"
	"fmt"
	"net"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// disabled switches off a listener of controller-runtime's manager.
const disabled = "0"

// StandIn stands in for Modelplane's composer on one hub.
type StandIn struct {
	manager  ctrl.Manager
	dialer   *connrotation.Dialer
	gateway  *gateway
	clusters *clusterGateways
	requests *inflight
	counts   *counter
}

// New prepares a stand-in on the hub that cfg reaches, which must serve Modelplane's
// kinds. It changes nothing yet, but its gateway listens: Run must be called, and
// frees everything when it returns.
func New(cfg *rest.Config, options Options) (*StandIn, error) {
	if err := options.validate(); err != nil {
		return nil, fmt.Errorf("stand-in for Modelplane's composer: %w", err)
	}
	s, err := assemble(cfg, options.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("stand-in for Modelplane's composer: %w", err)
	}
	return s, nil
}

func assemble(cfg *rest.Config, options Options) (*StandIn, error) {
	dialer := connrotation.NewDialer((&net.Dialer{Timeout: dialTimeout}).DialContext)
	manager, err := newManager(cfg, dialer, options)
	if err != nil {
		return nil, err
	}
	s := &StandIn{manager: manager, dialer: dialer, requests: newInflight(), counts: &counter{}}
	routes := newRouteTable()
	s.clusters = newClusterGateways(manager.GetClient(), options.RequestTime, s.requests)
	if s.gateway, err = openGateway(manager.GetClient(), routes, s.counts); err != nil {
		return nil, err
	}
	if err := s.register(options, routes); err != nil {
		return nil, errors.Join(err, s.gateway.close())
	}
	return s, nil
}

func newManager(cfg *rest.Config, dialer *connrotation.Dialer, options Options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(modelplane.AddToScheme(scheme), gatewayv1.Install(scheme)); err != nil {
		return nil, err
	}
	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), UserAgent)
	// Connections of its own, which Run can close: client-go would share them with
	// everybody in this process and keep them.
	cfg.Dial = dialer.DialContext
	if cfg.QPS == 0 {
		cfg.QPS = -1 // what is measured must not be this client's own limit
	}
	return ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                 scheme,
		Logger:                 options.Logger,
		Metrics:                server.Options{BindAddress: disabled},
		HealthProbeBindAddress: disabled,
		Controller: config.Controller{
			// Several stand-ins, each on its own hub, can run in one process.
			SkipNameValidation:      ptr.To(true),
			MaxConcurrentReconciles: options.Workers,
			Logger:                  options.Logger,
		},
	})
}

func (s *StandIn) register(options Options, routes *routeTable) error {
	c := s.manager.GetClient()
	if !options.KeepClusterStatus {
		clusters := &clusterReconciler{client: c, gateways: s.clusters, counts: s.counts}
		if err := clusters.setUp(s.manager); err != nil {
			return err
		}
	}
	published, err := s.publisher(routes)
	if err != nil {
		return err
	}
	for _, setUp := range []func(ctrl.Manager) error{
		newReplicaReconciler(c, options, s.requests, s.counts).setUp,
		(&endpointReconciler{client: c, counts: s.counts}).setUp,
		(&serviceReconciler{
			client: c, routes: published, interval: options.RouteInterval, gatewayURL: s.GatewayURL(), counts: s.counts,
		}).setUp,
	} {
		if err := setUp(s.manager); err != nil {
			return err
		}
	}
	return nil
}

// publisher has routes go through HTTPRoutes where the hub serves them.
func (s *StandIn) publisher(routes *routeTable) (publisher, error) {
	served, err := servesHTTPRoutes(s.manager.GetRESTMapper())
	if err != nil {
		return nil, err
	}
	if !served {
		return tablePublisher{routes: routes}, nil
	}
	c := s.manager.GetClient()
	reader := &httpRouteReconciler{client: c, routes: routes}
	return &httpRoutePublisher{client: c, counts: s.counts}, reader.setUp(s.manager)
}

// Run does the work until ctx ends, and then closes every listener and connection.
// It may be called once.
func (s *StandIn) Run(ctx context.Context) error {
	s.gateway.serve()
	err := s.manager.Start(ctx)
	err = errors.Join(err, s.gateway.close(), s.clusters.close())
	s.dialer.CloseAll()
	if err != nil {
		return fmt.Errorf("stand-in for Modelplane's composer: %w", err)
	}
	return nil
}

// GatewayURL is where the routes of ModelServices are served, without a slash at the
// end: a service is reached under /<namespace>/<name>/.
func (s *StandIn) GatewayURL() string {
	return s.gateway.listener.url()
}

// Counters tells what was done so far.
func (s *StandIn) Counters() Counters {
	return s.counts.read()
}

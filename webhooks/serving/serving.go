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

package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Options say where a program serves its webhooks and by which names API servers find them.
type Options struct {
	// BindAddress is "host:port" or ":port".
	BindAddress string
	// Namespace holds the Service and the Secret.
	Namespace string
	// Service is the one that the webhook configurations name. Only webhooks that name it get the authority's certificate.
	Service string
	// Secret holds authority and certificate. It has to exist, empty at first: the program may not create Secrets.
	Secret string
	// Validating and Mutating name the webhook configurations; empty where there is none.
	Validating, Mutating string
}

// Server serves webhooks over TLS and keeps its certificates. Every replica of a program runs one, leader or not.
type Server struct {
	options Options
	issuer  *issuer
	server  webhook.Server
	current atomic.Pointer[tls.Certificate]
}

// New prepares a server. Call ManagerOptions before the manager is made and Setup after.
func New(options Options) (*Server, error) {
	host, port, err := net.SplitHostPort(options.BindAddress)
	if err != nil {
		return nil, fmt.Errorf("address of the webhook server: %w", err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("port of the webhook server: %w", err)
	}
	s := &Server{options: options, issuer: newIssuer(options.Service, options.Namespace)}
	s.server = webhook.NewServer(webhook.Options{
		Host: host,
		Port: number,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion = tls.VersionTLS12
			c.GetCertificate = s.certificate
		}},
	})
	return s, nil
}

// ManagerOptions makes a manager serve its webhooks here, knows the kinds that certificates need, and narrows the
// manager's cache to the very objects, so that a role can name them.
func (s *Server) ManagerOptions(o *ctrl.Options) {
	utilruntime.Must(corev1.AddToScheme(o.Scheme))
	utilruntime.Must(admissionregistrationv1.AddToScheme(o.Scheme))
	o.WebhookServer = s.server
	if o.Cache.ByObject == nil {
		o.Cache.ByObject = map[client.Object]cache.ByObject{}
	}
	o.Cache.ByObject[&corev1.Secret{}] = cache.ByObject{
		Namespaces: map[string]cache.Config{s.options.Namespace: {FieldSelector: named(s.options.Secret)}},
	}
	if s.options.Validating != "" {
		o.Cache.ByObject[&admissionregistrationv1.ValidatingWebhookConfiguration{}] = cache.ByObject{Field: named(s.options.Validating)}
	}
	if s.options.Mutating != "" {
		o.Cache.ByObject[&admissionregistrationv1.MutatingWebhookConfiguration{}] = cache.ByObject{Field: named(s.options.Mutating)}
	}
}

func named(name string) fields.Selector {
	return fields.OneTermEqualSelector("metadata.name", name)
}

// Setup adds the certificates' controller and a readiness check to the manager that ManagerOptions prepared. Webhooks
// are registered with mgr.GetWebhookServer().
func (s *Server) Setup(mgr ctrl.Manager) error {
	if err := s.setupController(mgr); err != nil {
		return fmt.Errorf("set up the webhook certificates: %w", err)
	}
	return mgr.AddReadyzCheck("webhooks", s.readiness(mgr))
}

// readiness holds while a call could be answered: the server listens, has a certificate, and the caches that webhooks
// read are filled.
func (s *Server) readiness(mgr ctrl.Manager) func(*http.Request) error {
	return func(r *http.Request) error {
		if err := s.server.StartedChecker()(r); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
}

// certificate answers a handshake.
func (s *Server) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := s.current.Load(); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("no certificate yet: Secret %s/%s is missing or was not read yet", s.options.Namespace, s.options.Secret)
}

// serve takes a certificate into use. One that does not parse leaves the last one in place.
func (s *Server) serve(m keyMaterial) error {
	pair, err := tls.X509KeyPair(m[certificateKey], m[privateKey])
	if err != nil {
		return fmt.Errorf("use the certificate in Secret %s/%s: %w", s.options.Namespace, s.options.Secret, err)
	}
	s.current.Store(&pair)
	return nil
}

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

package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	readyPollInterval = 50 * time.Millisecond
	// probeTimeout bounds one question: a component whose backend is just starting
	// may accept a connection and then not answer.
	probeTimeout = 5 * time.Second
	// messageLogLines is how much of a component's log an error quotes.
	messageLogLines = 20
	maxProbeBody    = 4 << 10
)

// probe asks a component whether it is ready; nil means yes.
type probe func(context.Context) error

// waitReady polls until the probe succeeds. It returns early if the process ends or
// ctx does, and its error quotes the end of the component's log.
func waitReady(ctx context.Context, p *process, ready probe) error {
	var latest error
	err := wait.PollUntilContextCancel(ctx, readyPollInterval, true, func(ctx context.Context) (bool, error) {
		if err := p.exitError(); err != nil {
			return false, fmt.Errorf("it ended before it was ready: %w", err)
		}
		probeCtx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		latest = ready(probeCtx)
		return latest == nil, nil
	})
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if latest != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w; latest probe: %w", err, latest)
	}
	return fmt.Errorf("%s: %w\nthe last lines of its log:\n%s", p.component, err, indent(tail(p.logPath, messageLogLines)))
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// probe returns the readiness probe of a component.
func (cp *ControlPlane) probe(component Component) probe {
	switch component {
	case Etcd:
		return httpProbe(unixClient(cp.folder.etcdHTTPSocket()), "http://etcd/health")
	case APIServer:
		return cp.probeAPIServer
	case ControllerManager:
		return cp.probeControllerManager
	default:
		return httpProbe(cp.localTLSClient(), cp.localURL(component, "/readyz"))
	}
}

func (cp *ControlPlane) probeAPIServer(ctx context.Context) error {
	body, err := cp.admin.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	if err != nil {
		return errors.Join(err, errors.New(string(body)))
	}
	return nil
}

// probeControllerManager also waits for the default service account, the first
// work of the controller manager that others need: no pod is admitted without it.
func (cp *ControlPlane) probeControllerManager(ctx context.Context) error {
	healthz := httpProbe(cp.localTLSClient(), cp.localURL(ControllerManager, "/healthz"))
	if err := healthz(ctx); err != nil {
		return err
	}
	_, err := cp.admin.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err
}

func httpProbe(client *http.Client, url string) probe {
	return func(ctx context.Context) error {
		defer client.CloseIdleConnections()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(io.LimitReader(response.Body, maxProbeBody))
		if err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answered %s: %s", url, response.Status, body)
		}
		return nil
	}
}

// unixClient is an HTTP client that dials a socket whatever the URL's host.
func unixClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", socket)
		},
	}}
}

// localTLSClient trusts this control plane's certificate authority only.
func (cp *ControlPlane) localTLSClient() *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(cp.authority.certificate)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
	}}
}

func (cp *ControlPlane) localURL(component Component, path string) string {
	return fmt.Sprintf("https://127.0.0.1:%d%s", cp.ports[component].port, path)
}

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
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// dialTimeout bounds the set-up of a connection: a cluster's gateway may be an
// address that nobody answers at.
const dialTimeout = 2 * time.Second

// gateway serves the routes of ModelServices under /<namespace>/<service>/, as the
// hub's gateway does. On a hub with the Gateway API these are the HTTPRoutes as they
// stand:
//
//   - 404 where no route is
//   - 500 where the route names a backend that was deleted
//   - 503 where the backend's cluster does not answer
//   - otherwise what the backend answers
type gateway struct {
	*listener
	reader    client.Reader
	routes    *routeTable
	counts    *counter
	transport *http.Transport
}

// openGateway takes a port.
func openGateway(reader client.Reader, routes *routeTable, counts *counter) (*gateway, error) {
	g := &gateway{
		reader: reader,
		routes: routes,
		counts: counts,
		transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
			MaxIdleConnsPerHost: 32,
		},
	}
	var err error
	if g.listener, err = listen(g); err != nil {
		return nil, err
	}
	return g, nil
}

func (g *gateway) close() error {
	err := g.listener.close()
	g.transport.CloseIdleConnections()
	return err
}

// ServeHTTP answers one request and counts the answer.
func (g *gateway) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	counted := &countingWriter{ResponseWriter: w}
	defer func() { g.counts.answered(counted.code()) }()
	matched, rest := g.routes.match(request.URL.Path)
	if matched == nil {
		http.Error(counted, fmt.Sprintf("no route for %s: the path must be /<namespace>/<service>/... of a ModelService with endpoints", request.URL.Path), http.StatusNotFound)
		return
	}
	backend, ok := matched.next()
	if !ok {
		http.Error(counted, fmt.Sprintf("the route for %s has no backend with a weight", matched.prefix), http.StatusInternalServerError)
		return
	}
	endpoint := &modelplane.ModelEndpoint{}
	err := g.reader.Get(request.Context(), backend.key, endpoint)
	switch {
	case apierrors.IsNotFound(err) || err == nil && !endpoint.DeletionTimestamp.IsZero():
		http.Error(counted, fmt.Sprintf("the route names backend %s, which was deleted", backend.key), http.StatusInternalServerError)
	case err != nil:
		http.Error(counted, err.Error(), http.StatusServiceUnavailable)
	default:
		g.forward(counted, request, endpoint, backend.rewritePath+rest)
	}
}

// forward sends a request to an endpoint's cluster, for a path there.
func (g *gateway) forward(w http.ResponseWriter, request *http.Request, endpoint *modelplane.ModelEndpoint, path string) {
	upstream, err := upstreamOf(endpoint)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	proxy := &httputil.ReverseProxy{
		Transport: g.transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL = &url.URL{
				Scheme: upstream.Scheme, Host: upstream.Host,
				Path:     path,
				RawQuery: r.In.URL.RawQuery,
			}
			r.Out.Host = upstream.Host
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, fmt.Sprintf("no answer from the cluster of %s: %v", endpoint.Name, err), http.StatusServiceUnavailable)
		},
	}
	proxy.ServeHTTP(w, request)
}

// splitPath takes /<namespace>/<name>/<rest> apart.
func splitPath(path string) (key types.NamespacedName, rest string, ok bool) {
	const parts = 3
	split := strings.SplitN(strings.TrimPrefix(path, "/"), "/", parts)
	if len(split) < parts || split[0] == "" || split[1] == "" {
		return types.NamespacedName{}, "", false
	}
	return types.NamespacedName{Namespace: split[0], Name: split[1]}, split[2], true
}

// countingWriter remembers the status code.
type countingWriter struct {
	http.ResponseWriter
	written int
}

func (w *countingWriter) WriteHeader(code int) {
	w.written = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController reach the features of the writer below.
func (w *countingWriter) Unwrap() http.ResponseWriter {
	return w.ResponseWriter
}

func (w *countingWriter) code() int {
	if w.written == 0 {
		return http.StatusOK
	}
	return w.written
}

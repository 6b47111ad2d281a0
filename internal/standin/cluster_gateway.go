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
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// clusterGateways are the gateways of the clusters, each on a port of its own, so
// that clusters have different addresses.
type clusterGateways struct {
	reader      client.Reader
	requestTime time.Duration
	requests    *inflight

	mu     sync.Mutex
	open   map[string]*listener
	closed bool
}

func newClusterGateways(reader client.Reader, requestTime time.Duration, requests *inflight) *clusterGateways {
	return &clusterGateways{reader: reader, requestTime: requestTime, requests: requests, open: map[string]*listener{}}
}

// addressOf returns the address of a cluster's gateway, which it opens if need be.
func (g *clusterGateways) addressOf(cluster string) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return "", fmt.Errorf("gateway of InferenceCluster %s: the stand-in has ended", cluster)
	}
	if opened, ok := g.open[cluster]; ok {
		return opened.address(), nil
	}
	opened, err := listen(&clusterGateway{reader: g.reader, cluster: cluster, requestTime: g.requestTime, requests: g.requests})
	if err != nil {
		return "", fmt.Errorf("gateway of InferenceCluster %s: %w", cluster, err)
	}
	opened.serve()
	g.open[cluster] = opened
	return opened.address(), nil
}

// closeOf closes the gateway of a cluster, if it is open.
func (g *clusterGateways) closeOf(cluster string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	opened, ok := g.open[cluster]
	if !ok {
		return nil
	}
	delete(g.open, cluster)
	return opened.close()
}

// close closes all of them for good.
func (g *clusterGateways) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	var failures []error
	for _, opened := range g.open {
		failures = append(failures, opened.close())
	}
	clear(g.open)
	return errors.Join(failures...)
}

// clusterGateway answers for the replicas on one cluster, under
// /<namespace>/<replica>/: 404 where the replica is not, 503 while it does not serve
// and where it is deleted before it has answered.
type clusterGateway struct {
	reader      client.Reader
	cluster     string
	requestTime time.Duration
	requests    *inflight
}

// Answer is what a serving replica says, as JSON.
type Answer struct {
	// Namespace and Replica name the ModelReplica.
	Namespace string `json:"namespace"`
	Replica   string `json:"replica"`
	// Deployment is the ModelDeployment that the replica belongs to.
	Deployment string `json:"deployment"`
	// Cluster is the InferenceCluster that the replica is on.
	Cluster string `json:"cluster"`
}

// ServeHTTP answers one request.
func (g *clusterGateway) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	key, _, ok := splitPath(request.URL.Path)
	if !ok {
		http.Error(w, "no route: the path must be /<namespace>/<replica>/...", http.StatusNotFound)
		return
	}
	// Counted before the look at the replica, so that no deletion falls in between.
	cut, done := g.requests.begin(key)
	defer done()
	replica := &modelplane.ModelReplica{}
	err := g.reader.Get(request.Context(), key, replica)
	switch {
	case apierrors.IsNotFound(err) || err == nil && replica.Spec.ClusterName != g.cluster:
		http.Error(w, fmt.Sprintf("no ModelReplica %s on %s", key, g.cluster), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case !replica.DeletionTimestamp.IsZero() || !isServing(replica):
		http.Error(w, fmt.Sprintf("ModelReplica %s does not serve", key), http.StatusServiceUnavailable)
	case !g.work(request.Context(), cut):
		http.Error(w, fmt.Sprintf("ModelReplica %s was deleted before it had answered", key), http.StatusServiceUnavailable)
	default:
		g.answer(w, replica)
	}
}

// work takes the time that a request takes, and tells whether it came to its end.
func (g *clusterGateway) work(ctx context.Context, cut <-chan struct{}) bool {
	if g.requestTime == 0 {
		return true
	}
	timer := time.NewTimer(g.requestTime)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-cut:
		return false
	case <-ctx.Done():
		return false
	}
}

func (g *clusterGateway) answer(w http.ResponseWriter, replica *modelplane.ModelReplica) {
	w.Header().Set("Content-Type", "application/json")
	// A client that has gone away needs no answer.
	_ = json.NewEncoder(w).Encode(Answer{
		Namespace:  replica.Namespace,
		Replica:    replica.Name,
		Deployment: replica.Labels[modelplane.LabelDeployment],
		Cluster:    g.cluster,
	})
}

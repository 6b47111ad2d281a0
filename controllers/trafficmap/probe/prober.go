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

package probe

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// Target is one endpoint of one service under one policy. What was found out about a target
// is forgotten when any part of it changes.
type Target struct {
	// Owner is the UID of the InferenceService.
	Owner   types.UID
	Cluster string
	// Endpoint is the URL that the policy's path is appended to.
	Endpoint string
	// Digest is that of the policy.
	Digest string
}

// Prober probes targets at the pace of their policies. It may be used concurrently.
type Prober struct {
	ctx    context.Context
	client *http.Client
	// changed is called when something about a service is worth telling.
	changed func(service types.NamespacedName)
	now     func() time.Time

	mu       sync.Mutex
	services map[types.NamespacedName]map[Target]*watch
}

// watch is the probing of one target.
type watch struct {
	policy *Policy
	cancel context.CancelFunc
	// state is guarded by the prober's mutex; it says nothing before the first answer.
	state State
}

// NewProber makes a prober that works until ctx ends.
func NewProber(ctx context.Context, changed func(types.NamespacedName)) *Prober {
	return &Prober{
		ctx:      ctx,
		client:   &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		changed:  changed,
		now:      time.Now,
		services: map[types.NamespacedName]map[Target]*watch{},
	}
}

// Watch has exactly these targets of a service probed, by the policy; with none, or without a
// policy, it stops. known is what a map that was written before says of a target, or nil; it
// is where a target that is new to the prober starts from.
func (p *Prober) Watch(service types.NamespacedName, policy *Policy, targets []Target, known func(Target) *v1beta1.TrafficMapProbe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, wanted := p.services[service], map[Target]*watch{}
	if policy != nil {
		for _, t := range targets {
			if w, exists := old[t]; exists {
				wanted[t] = w
				continue
			}
			wanted[t] = p.start(service, t, policy, known(t))
		}
	}
	for t, w := range old {
		if wanted[t] == nil {
			w.cancel()
		}
	}
	if len(wanted) == 0 {
		delete(p.services, service)
		return
	}
	p.services[service] = wanted
}

// Forget stops all probing of a service.
func (p *Prober) Forget(service types.NamespacedName) {
	p.Watch(service, nil, nil, nil)
}

// Observed is what is known of a target, or nil before the first answer.
func (p *Prober) Observed(service types.NamespacedName, t Target) *v1beta1.TrafficMapProbe {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.services[service][t]
	if w == nil || w.state.Result == "" {
		return nil
	}
	return w.state.entry(t.Digest)
}

func (p *Prober) start(service types.NamespacedName, t Target, policy *Policy, known *v1beta1.TrafficMapProbe) *watch {
	ctx, cancel := context.WithCancel(p.ctx)
	w := &watch{policy: policy, cancel: cancel}
	var pause time.Duration
	if known != nil {
		w.state = restored(known)
		// Or all that a restart finds would be probed at the same moment ever after.
		pause = rand.N(policy.Period)
	}
	go p.run(ctx, service, t, w, pause)
	return w
}

// run probes after the first pause and then every period.
func (p *Prober) run(ctx context.Context, service types.NamespacedName, t Target, w *watch, pause time.Duration) {
	for {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		result, message := p.probe(ctx, t, w.policy)
		if ctx.Err() != nil {
			return
		}
		if p.record(w, result, message) {
			p.changed(service)
		}
		pause = w.policy.Period
	}
}

func (p *Prober) record(w *watch, result v1beta1.ProbeResult, message string) (tell bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := w.state
	w.state = before.Next(w.policy, result, message, p.now())
	return worthTelling(w.policy, before, w.state)
}

// maxBody is how much of an answer is read, so that its connection can be used again.
const maxBody = 64 << 10

func (p *Prober) probe(ctx context.Context, t Target, policy *Policy) (v1beta1.ProbeResult, string) {
	ctx, cancel := context.WithTimeout(ctx, policy.Timeout)
	defer cancel()
	target, err := targetURL(t.Endpoint, policy.Path)
	if err != nil {
		return v1beta1.ProbeUnknown, "probe could not run: " + err.Error()
	}
	request, err := http.NewRequestWithContext(ctx, policy.Method, target, nil)
	if err != nil {
		return v1beta1.ProbeUnknown, "probe could not run: " + err.Error()
	}
	request.Header.Set("User-Agent", "evenkeel-trafficmap-probe")
	response, err := p.client.Do(request)
	if err != nil {
		return v1beta1.ProbeFailing, "transport error: " + cause(err)
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, maxBody)); err != nil {
		return v1beta1.ProbeFailing, "response body error: " + cause(err)
	}
	return policy.judge(response.StatusCode)
}

func targetURL(endpoint, path string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	if u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("the endpoint is no http or https URL")
	}
	rest, err := url.Parse(path)
	if err != nil {
		return "", err
	}
	target := u.JoinPath(rest.Path)
	target.RawQuery = rest.RawQuery
	return target.String(), nil
}

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

package admission

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// pair is how long the API server took for the two updates of a pair.
type pair struct {
	guarded, bare time.Duration
}

// auditedWebhook is the audit annotation of an update that the guard was asked about.
const auditedWebhook = "traffic-drain.evenkeel.io/decision"

// measureCase makes the updates of one case and reads from the audit log how long each took.
func (h *hub) measureCase(ctx context.Context, u update, opts options) ([]pair, error) {
	before, err := h.cp.AuditEvents()
	if err != nil {
		return nil, err
	}
	total := opts.warmUp + opts.pairs
	for number := 1; number <= total; number++ {
		order := []kind{guarded, bare}
		if number%2 == 0 {
			order = []kind{bare, guarded}
		}
		for _, k := range order {
			if err := h.update(ctx, k.object(number, u)); err != nil {
				return nil, fmt.Errorf("update %d of the service of %s: %w", number, k, err)
			}
		}
	}
	after, err := h.cp.AuditEvents()
	if err != nil {
		return nil, err
	}
	pairs, err := readPairs(after[len(before):], u, total)
	if err != nil {
		return nil, err
	}
	return pairs[opts.warmUp:], nil
}

// readPairs matches the updates of the two kinds, which come in the order in which they were made. It checks that the
// guard was asked about the updates that it is about, and about no other.
func readPairs(events []auditv1.Event, u update, total int) ([]pair, error) {
	times := map[kind][]time.Duration{}
	for i := range events {
		e := &events[i]
		if e.Verb != "update" || e.ObjectRef == nil || e.ObjectRef.Resource != "inferenceservices" || strings.Contains(e.RequestURI, "dryRun") {
			continue
		}
		k := kind(e.ObjectRef.APIGroup)
		if e.ResponseStatus == nil || e.ResponseStatus.Code != http.StatusOK {
			return nil, fmt.Errorf("an update of the service of %s was not answered with 200", k)
		}
		_, asked := e.Annotations[auditedWebhook]
		if want := k == guarded && u == ofDrains; asked != want {
			return nil, fmt.Errorf("the guard was asked about an update of the service of %s: %t, want %t", k, asked, want)
		}
		times[k] = append(times[k], e.StageTimestamp.Sub(e.RequestReceivedTimestamp.Time))
	}
	if len(times[guarded]) != total || len(times[bare]) != total {
		return nil, fmt.Errorf("the audit log has %d and %d updates, want %d each", len(times[guarded]), len(times[bare]), total)
	}
	pairs := make([]pair, total)
	for i := range pairs {
		pairs[i] = pair{guarded: times[guarded][i], bare: times[bare][i]}
	}
	return pairs, nil
}

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

package traffic

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/guarded"
)

// parallelPatches is how many services are patched at once: enough not to wait for each
// answer, few enough for a hub that is busy.
const parallelPatches = 8

// apply does what was planned. Each service is read anew right before its patch, since the
// question may have waited long, and is decided on anew; what would now be a blackout is left
// out even if it was none when the plan was shown.
func (fl *fleet) apply(ctx context.Context, client *cli.Client, results []*result) error {
	patches, err := fl.client()
	if err != nil {
		return err
	}
	work := make(chan *result)
	var group sync.WaitGroup
	for range parallelPatches {
		group.Go(func() {
			for r := range work {
				r.decision = fl.applyOne(ctx, client, patches, r)
			}
		})
	}
	for _, r := range results {
		if r.verdict == verdictPlanned {
			work <- r
		}
	}
	close(work)
	group.Wait()
	return nil
}

func (fl *fleet) applyOne(ctx context.Context, client *cli.Client, patches *guarded.Client, r *result) decision {
	planned := r.decision
	failed := func(v verdict, err error) decision {
		var said *cli.Error
		if errors.As(err, &said) && said.Code == cli.ExitConflict {
			v = verdictConflict
		}
		return decision{verdict: v, effect: planned.effect, detail: guarded.OneLine(err.Error())}
	}
	service, err := patches.Read(ctx, r.service.Namespace, r.service.Name)
	if err != nil {
		return failed(verdictFailed, err)
	}
	tm, err := cli.Get[v1beta1.TrafficMap](ctx, client, trafficMaps, service.Namespace, service.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return failed(verdictFailed, err)
	}
	now := fl.decide(&member{service: &service.InferenceService, tm: tm})
	if now.verdict != verdictPlanned {
		if now.verdict == verdictNone {
			return decision{verdict: verdictUnchanged, detail: "changed meanwhile and is not concerned any more"}
		}
		return now
	}
	plan, err := fl.action.plan(service)
	if err != nil {
		return failed(verdictRefused, err)
	}
	now.verdict = verdictDone
	switch fl.dryRun {
	case dryRunClient:
		now.verdict = verdictPlanned
		return now
	case dryRunServer:
		now.verdict = verdictChecked
	}
	if err := patches.Send(ctx, plan, fl.dryRun == dryRunServer); err != nil {
		return failed(verdictFailed, err)
	}
	return now
}

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

package trafficdrain

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	drains "github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// Guard answers the API server about edits of drains.
type Guard struct {
	// Reader has InferenceServices' TrafficMaps and the WorkloadClusters; it must be a cache.
	Reader client.Reader
	// Config says what is denied and what is warned of.
	Config configapi.TrafficDrainGuard
}

var _ admission.Handler = &Guard{}

// verdict is the answer about one edit.
type verdict struct {
	// refusal is nil for an edit that is let through.
	refusal error
	// rule is the broken rule, for metrics and the audit log.
	rule     drains.Rule
	warnings []string
	review   drains.Review
}

func (v *verdict) refuse(rule drains.Rule, err error) {
	v.rule, v.refusal = rule, err
}

func (v *verdict) warn(format string, args ...any) {
	v.warnings = append(v.warnings, fmt.Sprintf(format, args...))
}

// Handle implements admission.Handler.
func (g *Guard) Handle(ctx context.Context, request admission.Request) admission.Response {
	edit, err := decode(request)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	v, err := g.judge(ctx, edit)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError,
			fmt.Errorf("the drains of InferenceService %s cannot be judged now, try again: %w", edit.key(), err))
	}
	count(request, v)
	response := admission.Allowed("")
	if v.refusal != nil {
		log.FromContext(ctx).Info("Refused an edit of traffic drains", "rule", v.rule)
		response = admission.Denied(v.refusal.Error())
	}
	response.AuditAnnotations = auditAnnotations(v)
	return response.WithWarnings(v.warnings...)
}

// judge asks the rules in the order in which a person would want to know: is it the right annotation, is it well
// formed, does it name clusters that exist, does it leave anything that serves.
func (g *Guard) judge(ctx context.Context, e *edit) (*verdict, error) {
	v := &verdict{}
	if e.derived() {
		return v, nil
	}
	if err := drains.CheckKeys(e.old.Annotations, e.object.Annotations); err != nil {
		v.refuseBy(err)
		return v, nil
	}
	var err error
	v.review, err = drains.ReviewEdit(drains.ValueOf(e.old.Annotations), drains.ValueOf(e.object.Annotations))
	if err != nil {
		v.refuseBy(err)
		return v, nil
	}
	warnOfEnds(v)
	if len(v.review.Diff.Added) == 0 {
		return v, nil
	}
	return v, g.judgeAdded(ctx, e, v)
}

// refuseBy takes over a refusal of internal/trafficdrain, in the words that are fit to be shown.
func (v *verdict) refuseBy(err error) {
	var refusal *drains.Refusal
	if errors.As(err, &refusal) {
		v.refuse(refusal.Rule, errors.New(refusal.Explain()))
		return
	}
	v.refuse(drains.RuleMalformed, err)
}

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

package guarded

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

const (
	messageConflict    = "guarded annotation patch rejected; refresh traffic status and retry explicitly"
	messageNotSafely   = "API response is not safely bound to the request; outcome unknown, check traffic status"
	messageTooLarge    = "API response exceeds safety bounds; outcome unknown, check traffic status"
	messageOtherObject = "API response is not bound to the request; outcome unknown, check traffic status"
)

// operation is one step of a JSON Patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

const annotationsPath = "/metadata/annotations"

func annotationPath(key string) string {
	return annotationsPath + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// operations tests the identity of what was read, then changes the one annotation.
func (p *Plan) operations() []operation {
	ops := []operation{
		{"test", "/metadata/uid", string(p.Service.UID)},
		{"test", "/metadata/resourceVersion", p.Service.ResourceVersion},
	}
	path := annotationPath(trafficdrain.AnnotationKey)
	switch {
	case !p.Value.Present:
		return append(ops, operation{Op: "remove", Path: path})
	case p.Service.Drains().Present:
		ops = append(ops, operation{"replace", path, p.Value.Raw})
	default:
		if !p.Service.hasAnnotations() {
			ops = append(ops, operation{"add", annotationsPath, map[string]string{}})
		}
		ops = append(ops, operation{"add", path, p.Value.Raw})
	}
	if p.AllowBlackout {
		ops = append(ops, operation{"add", annotationPath(evenkeel.AnnotationAllowBlackout), p.Drain.ID})
	}
	return ops
}

// Send asks the API server to carry out a plan, or with dryRun only to check it. The error is
// a *cli.Error: with cli.ExitConflict the service has changed since it was read and nothing
// was written; a message that ends in "check traffic status" means that it may have been.
func (c *Client) Send(ctx context.Context, p *Plan, dryRun bool) error {
	body, err := json.Marshal(p.operations())
	if err != nil {
		return err
	}
	query := url.Values{}
	if dryRun {
		query.Set("dryRun", metav1.DryRunAll)
	}
	s := p.Service
	a, err := c.do(ctx, http.MethodPatch, pathOf(s.Namespace, s.Name), query, types.JSONPatchType, body)
	if err != nil {
		return unanswered(err)
	}
	if !a.ok() {
		if conflict(a) {
			return &cli.Error{Message: messageConflict, Code: cli.ExitConflict}
		}
		return refusedByServer(a)
	}
	return bound(a, s)
}

// conflict tells whether the service is no longer the one that was read. A failed test of a
// JSON Patch is answered with a 422 that, unlike the refusal of an invalid object, names no
// object and no field.
func conflict(a *answer) bool {
	if a.code == http.StatusConflict {
		return true
	}
	status := a.status()
	return a.code == http.StatusUnprocessableEntity && status.Reason == metav1.StatusReasonInvalid &&
		(status.Details == nil || status.Details.Name == "" && len(status.Details.Causes) == 0)
}

// bound checks that the answer is about the object of the request.
func bound(a *answer, s *Service) error {
	if a.oversized {
		return &cli.Error{Message: messageTooLarge}
	}
	changed, err := decode(a.body)
	if err != nil {
		return &cli.Error{Message: messageNotSafely, Cause: OneLine(err.Error())}
	}
	if fault := changed.differs(s.Namespace, s.Name, string(s.UID)); fault != "" {
		return &cli.Error{Message: messageOtherObject, Cause: fault}
	}
	if !trafficdrain.SafeScalar(changed.ResourceVersion) {
		return &cli.Error{Message: messageOtherObject, Cause: "the answer has no safe resourceVersion"}
	}
	return nil
}

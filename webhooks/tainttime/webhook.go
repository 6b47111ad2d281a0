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

package tainttime

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Path is where the webhook is served.
const Path = "/mutate-modelplane-ai-v1alpha1-inferencecluster-taint-time"

// Stamper answers the API server.
type Stamper struct {
	// HasField tells whether the hub's schema has timeAdded in taints.
	HasField bool
	// Now is the clock.
	Now func() time.Time
}

var _ admission.Handler = &Stamper{}

// Setup serves the webhook. It asks the hub once whether taints have timeAdded; after a change of the schema the
// annotation goes on to be written until the next start, which is read just as well.
func Setup(mgr ctrl.Manager) error {
	client, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return err
	}
	has, err := awaitField(log.IntoContext(context.Background(), mgr.GetLogger()), client, publishing)
	if err != nil {
		return fmt.Errorf("find out whether taints of InferenceClusters have timeAdded: %w", err)
	}
	mgr.GetWebhookServer().Register(Path, &admission.Webhook{Handler: &Stamper{HasField: has, Now: time.Now}})
	return nil
}

// Handle implements admission.Handler. A cluster that it cannot read it lets through.
func (s *Stamper) Handle(ctx context.Context, request admission.Request) admission.Response {
	var old, edited cluster
	if err := json.Unmarshal(request.Object.Raw, &edited); err != nil {
		return unread(ctx, err)
	}
	if request.Operation == admissionv1.Update {
		if err := json.Unmarshal(request.OldObject.Raw, &old); err != nil {
			return unread(ctx, err)
		}
	}
	patch := annotationPatch
	if s.HasField {
		patch = fieldPatch
	}
	return admission.Patched("", patch(&old, &edited, s.Now())...).WithWarnings(warnings(&old, &edited)...)
}

func unread(ctx context.Context, err error) admission.Response {
	log.FromContext(ctx).Error(err, "Left the times of an InferenceCluster's taints alone")
	return admission.Allowed("")
}

// warnings tells, before a drain begins, of a deletion that would follow at its end.
func warnings(old, edited *cluster) []string {
	if _, recorded := edited.Metadata.Annotations[modelplane.AnnotationDeletionAttempt]; !recorded {
		return nil
	}
	for i := range edited.Spec.Taints {
		taint := &edited.Spec.Taints[i]
		if taint.Effect == modelplane.TaintEffectNoExecute && old.find(taint) == nil {
			return []string{"a refused deletion of this cluster is on record: Crossplane deletes it once its last replica is gone; to keep it, remove annotation " + modelplane.AnnotationDeletionAttempt}
		}
	}
	return nil
}

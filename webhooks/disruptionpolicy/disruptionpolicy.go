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

// Package disruptionpolicy is the admission webhook that warns of a DisruptionPolicy under which a replica could never
// be moved, so that a drain of its cluster would never end. It says which deployments are concerned, and why.
//
// It must only warn: such a policy may be what somebody wants.
package disruptionpolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// Path is where the webhook is served.
const Path = "/validate-evenkeel-io-v1alpha1-disruptionpolicy"

// maxDeployments is how many deployments a warning names.
const maxDeployments = 5

// Adviser answers the API server.
type Adviser struct {
	// Reader has ModelDeployments and DisruptionPolicies; it must be a cache.
	Reader client.Reader
	// Defaults hold where no policy says otherwise.
	Defaults *evenkeel.DisruptionSettings
}

var _ admission.Handler = &Adviser{}

// Setup serves the webhook, and begins to watch what it reads.
func Setup(ctx context.Context, mgr ctrl.Manager, defaults *evenkeel.DisruptionSettings) error {
	for _, kind := range []client.Object{&modelplane.ModelDeployment{}, &evenkeel.DisruptionPolicy{}} {
		if _, err := mgr.GetCache().GetInformer(ctx, kind); err != nil {
			return fmt.Errorf("watch what the adviser on DisruptionPolicies reads: %w", err)
		}
	}
	mgr.GetWebhookServer().Register(Path, &admission.Webhook{Handler: &Adviser{Reader: mgr.GetCache(), Defaults: defaults}})
	return nil
}

// Handle implements admission.Handler. It lets everything through.
func (a *Adviser) Handle(ctx context.Context, request admission.Request) admission.Response {
	policy := &evenkeel.DisruptionPolicy{}
	if err := json.Unmarshal(request.Object.Raw, policy); err != nil {
		log.FromContext(ctx).Error(err, "Let a DisruptionPolicy through unseen")
		return admission.Allowed("")
	}
	policy.Namespace = request.Namespace
	warning, err := a.advise(ctx, policy)
	if err != nil {
		log.FromContext(ctx).Error(err, "Let a DisruptionPolicy through unseen")
		return admission.Allowed("")
	}
	if warning == "" {
		return admission.Allowed("")
	}
	return admission.Allowed("").WithWarnings(warning)
}

// advise looks at the policies as they would be together: another one may make moves possible that this one alone does
// not allow, and this one may take the last possibility away. A paused policy is not spoken of: it says itself what it does.
func (a *Adviser) advise(ctx context.Context, policy *evenkeel.DisruptionPolicy) (string, error) {
	if policy.Spec.MaxUnavailable == nil {
		return "", nil
	}
	in := client.InNamespace(policy.Namespace)
	deployments, others := &modelplane.ModelDeploymentList{}, &evenkeel.DisruptionPolicyList{}
	if err := a.Reader.List(ctx, deployments, in); err != nil {
		return "", fmt.Errorf("list ModelDeployments: %w", err)
	}
	if err := a.Reader.List(ctx, others, in); err != nil {
		return "", fmt.Errorf("list DisruptionPolicies: %w", err)
	}
	together := []*evenkeel.DisruptionPolicy{policy}
	for i := range others.Items {
		if others.Items[i].Name != policy.Name {
			together = append(together, &others.Items[i])
		}
	}
	selected, stuck := 0, []string{}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		if selects, err := replicas.Selects(policy, d); err != nil || !selects {
			continue
		}
		selected++
		if a.neverMoves(d, together) {
			stuck = append(stuck, fmt.Sprintf("%s (replicas: %d)", d.Name, d.Spec.Replicas))
		}
	}
	if selected == 0 && a.neverMoves(anyDeployment(policy), []*evenkeel.DisruptionPolicy{forAll(policy)}) {
		return text(policy, "of the ModelDeployments that it selects, none now"), nil
	}
	if len(stuck) == 0 {
		return "", nil
	}
	return text(policy, fmt.Sprintf("of %d of the %d ModelDeployments that it selects: %s", len(stuck), selected, some(stuck))), nil
}

// neverMoves judges the budget alone.
func (a *Adviser) neverMoves(d *modelplane.ModelDeployment, policies []*evenkeel.DisruptionPolicy) bool {
	merged, err := replicas.PolicyFor(d, policies, a.Defaults)
	return err == nil && merged.AtOnce() <= 0
}

// anyDeployment is one with as many replicas as one may have.
func anyDeployment(policy *evenkeel.DisruptionPolicy) *modelplane.ModelDeployment {
	d := &modelplane.ModelDeployment{}
	d.Namespace = policy.Namespace
	d.Spec.Replicas = 10
	return d
}

func forAll(policy *evenkeel.DisruptionPolicy) *evenkeel.DisruptionPolicy {
	policy = policy.DeepCopy()
	policy.Spec.Selector = &metav1.LabelSelector{}
	return policy
}

func text(policy *evenkeel.DisruptionPolicy, which string) string {
	return fmt.Sprintf("DisruptionPolicy %q: maxUnavailable %s lets no replica move (%s), so a drain of their clusters does not end; allow at least 1, or choose strategy MakeBeforeBreak",
		policy.Name, policy.Spec.MaxUnavailable.String(), which)
}

func some(names []string) string {
	slices.Sort(names)
	if len(names) <= maxDeployments {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxDeployments], ", "), len(names)-maxDeployments)
}

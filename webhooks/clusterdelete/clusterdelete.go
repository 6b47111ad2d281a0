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

// Package clusterdelete is the admission webhook that refuses to delete an InferenceCluster while ModelReplicas are on
// it, and names them. On a hub with Crossplane a Usage holds such a deletion back in any case; there the webhook's part
// is that the person learns at once why, and what to do.
//
// It must not get in the way: annotation evenkeel.io/allow-undrained-delete lifts it, and it lets everything through
// when it cannot tell.
package clusterdelete

import (
	"cmp"
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
)

// Path is where the webhook is served.
const Path = "/validate-modelplane-ai-v1alpha1-inferencecluster-delete"

// maxReplicas is how many replicas a refusal names.
const maxReplicas = 5

// Guard answers the API server.
type Guard struct {
	// Reader has the ModelReplicas; it must be a cache.
	Reader client.Reader
}

var _ admission.Handler = &Guard{}

// Setup serves the webhook, and begins to watch what it reads.
func Setup(ctx context.Context, mgr ctrl.Manager) error {
	if _, err := mgr.GetCache().GetInformer(ctx, &modelplane.ModelReplica{}); err != nil {
		return fmt.Errorf("watch what the delete guard reads: %w", err)
	}
	mgr.GetWebhookServer().Register(Path, &admission.Webhook{Handler: &Guard{Reader: mgr.GetCache()}})
	return nil
}

// Handle implements admission.Handler.
func (g *Guard) Handle(ctx context.Context, request admission.Request) admission.Response {
	cluster := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(request.OldObject.Raw, cluster); err != nil {
		log.FromContext(ctx).Error(err, "Let the deletion of an InferenceCluster through unseen")
		return admission.Allowed("")
	}
	// One that is being deleted has been judged.
	if cluster.DeletionTimestamp != nil {
		return admission.Allowed("")
	}
	replicas, err := g.replicasOn(ctx, cluster.Name)
	if err != nil {
		log.FromContext(ctx).Error(err, "Let the deletion of an InferenceCluster through unseen")
		return admission.Allowed("")
	}
	if len(replicas) == 0 {
		return admission.Allowed("")
	}
	if cluster.Annotations[evenkeel.AnnotationAllowUndrainedDelete] == "true" {
		return admission.Allowed("").WithWarnings(fmt.Sprintf("InferenceCluster %q is deleted with %s on it, as annotation %s allows",
			cluster.Name, counted(len(replicas)), evenkeel.AnnotationAllowUndrainedDelete))
	}
	return admission.Denied(refusal(cluster.Name, replicas)).WithWarnings(recorded(cluster)...)
}

// replicasOn lists the replicas on a cluster by name, also those that are being deleted, which still need it.
func (g *Guard) replicasOn(ctx context.Context, cluster string) ([]modelplane.ModelReplica, error) {
	list := &modelplane.ModelReplicaList{}
	if err := g.Reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list ModelReplicas: %w", err)
	}
	var on []modelplane.ModelReplica
	for i := range list.Items {
		if r := &list.Items[i]; r.Spec.ClusterName == cluster || r.Labels[modelplane.LabelCluster] == cluster {
			on = append(on, *r)
		}
	}
	slices.SortFunc(on, func(a, b modelplane.ModelReplica) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return on, nil
}

func refusal(cluster string, replicas []modelplane.ModelReplica) string {
	var names []string
	for i := range replicas[:min(maxReplicas, len(replicas))] {
		r := &replicas[i]
		names = append(names, fmt.Sprintf("%s/%s of ModelDeployment %q", r.Namespace, r.Name, r.Labels[modelplane.LabelDeployment]))
	}
	if more := len(replicas) - maxReplicas; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("InferenceCluster %q has %s on it: %s. Drain it with a NoExecute taint and delete it when "+
		"`kubectl get modelreplicas -A -l %s=%s` lists none. To delete it nevertheless: kubectl annotate inferencecluster %s %s=true",
		cluster, counted(len(replicas)), strings.Join(names, ", "), modelplane.LabelCluster, cluster, cluster, evenkeel.AnnotationAllowUndrainedDelete)
}

func counted(replicas int) string {
	if replicas == 1 {
		return "1 ModelReplica"
	}
	return fmt.Sprintf("%d ModelReplicas", replicas)
}

// recorded warns of an earlier deletion that Crossplane would carry out once the cluster is drained.
func recorded(cluster *metav1.PartialObjectMetadata) []string {
	if _, set := cluster.Annotations[modelplane.AnnotationDeletionAttempt]; !set {
		return nil
	}
	return []string{fmt.Sprintf("an earlier deletion is on record: Crossplane deletes InferenceCluster %q once its last replica is gone; to keep it, remove annotation %s",
		cluster.Name, modelplane.AnnotationDeletionAttempt)}
}

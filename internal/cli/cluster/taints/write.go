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

package taints

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
)

const (
	// attempts is how often a write is tried on what the cluster has become meanwhile.
	attempts = 15
	// minPause is the least time before it is tried anew, and pauseSpread how many times as much is added at most.
	minPause    = 20 * time.Millisecond
	pauseSpread = 9.0
)

var clusters = modelplane.GroupVersion.WithResource("inferenceclusters")

// Writer writes the taints of clusters.
type Writer struct {
	// Client of the hub.
	Client dynamic.Interface
	// Manager is the name under which it writes.
	Manager string
	// DryRun has the API server check everything and store nothing.
	DryRun bool
}

// Add puts a taint on a cluster, by server-side apply of this entry alone. Where a hub's schema
// makes the list one value, so that an apply would replace the others' taints, it writes the whole
// list instead, on the condition that nobody has changed the cluster since it was read.
//
// A reason, if there is one, goes into the annotation evenkeel.io/drain-reason. The cluster must be
// the one that was read: one that was deleted and made anew is a conflict. The error is a conflict
// (apierrors.IsConflict) where somebody else was always faster.
func (w Writer) Add(ctx context.Context, cluster *modelplane.InferenceCluster, taint modelplane.Taint, reason string) (*modelplane.InferenceCluster, error) {
	for try := 1; ; try++ {
		after, err := w.apply(ctx, cluster, taint, reason, true)
		if err == nil && len(lost(cluster.Spec.Taints, after.Spec.Taints)) > 0 || apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
			break
		}
		if err == nil && !w.DryRun {
			after, err = w.apply(ctx, cluster, taint, reason, false)
		}
		if !apierrors.IsConflict(err) || try == attempts {
			return after, err
		}
		if cluster, err = w.again(ctx, cluster); err != nil {
			return nil, err
		}
	}
	return w.edit(ctx, cluster, func(list []modelplane.Taint) edited {
		e := edited{taints: with(list, taint)}
		if reason != "" {
			e.annotation = map[string]any{evenkeel.AnnotationDrainReason: reason}
		}
		return e
	})
}

// Remove takes a taint from a cluster, whoever put it there, and with the last of its key also the
// reason. It writes on the condition that nobody has changed the cluster since it was read.
func (w Writer) Remove(ctx context.Context, cluster *modelplane.InferenceCluster, taint modelplane.Taint) (*modelplane.InferenceCluster, error) {
	return w.edit(ctx, cluster, func(list []modelplane.Taint) edited {
		e := edited{taints: without(list, taint)}
		if !slices.ContainsFunc(e.taints, func(t modelplane.Taint) bool { return t.Key == taint.Key }) {
			e.annotation = map[string]any{evenkeel.AnnotationDrainReason: nil}
		}
		return e
	})
}

// apply applies the taint beside what the same manager has applied before, on the condition that the
// cluster is as it was read: others may use the same manager's name. A taint of the same key and
// effect keeps its value.
func (w Writer) apply(ctx context.Context, cluster *modelplane.InferenceCluster, taint modelplane.Taint, reason string, dryRun bool) (*modelplane.InferenceCluster, error) {
	metadata := map[string]any{"name": cluster.Name, "uid": string(cluster.UID), "resourceVersion": cluster.ResourceVersion}
	if reason = orKept(reason, cluster); reason != "" {
		metadata["annotations"] = map[string]any{evenkeel.AnnotationDrainReason: reason}
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": modelplane.GroupVersion.String(),
		"kind":       "InferenceCluster",
		"metadata":   metadata,
		"spec":       map[string]any{"taints": entries(with(applied(cluster, w.Manager), taint))},
	}}
	options := metav1.ApplyOptions{FieldManager: w.Manager}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return typed(w.Client.Resource(clusters).Apply(ctx, cluster.Name, u, options))
}

// orKept keeps the reason that the cluster has where no other is given.
func orKept(reason string, cluster *modelplane.InferenceCluster) string {
	if reason == "" {
		return cluster.Annotations[evenkeel.AnnotationDrainReason]
	}
	return reason
}

// entries are taints as they are applied: without their times, which a webhook writes.
func entries(taints []modelplane.Taint) []any {
	list := make([]any, 0, len(taints))
	for _, t := range taints {
		entry := map[string]any{"key": t.Key, "effect": string(t.Effect)}
		if t.Value != "" {
			entry["value"] = t.Value
		}
		list = append(list, entry)
	}
	return list
}

// edited is what a cluster is to have: all its taints, and what changes in its annotations.
type edited struct {
	taints     []modelplane.Taint
	annotation map[string]any
}

// edit writes the whole list, on the condition that the cluster is as it was read, and reads it
// anew where it is not.
func (w Writer) edit(ctx context.Context, cluster *modelplane.InferenceCluster, change func([]modelplane.Taint) edited) (*modelplane.InferenceCluster, error) {
	for try := 1; ; try++ {
		after, err := w.patch(ctx, cluster, change(cluster.Spec.Taints))
		if !apierrors.IsConflict(err) || try == attempts {
			return after, err
		}
		if cluster, err = w.again(ctx, cluster); err != nil {
			return nil, err
		}
	}
}

// again reads a cluster anew after a conflict, a little later so that writers get out of step. One that
// was deleted and made anew is a conflict.
func (w Writer) again(ctx context.Context, cluster *modelplane.InferenceCluster) (*modelplane.InferenceCluster, error) {
	timer := time.NewTimer(wait.Jitter(minPause, pauseSpread))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
	}
	latest, err := cli.Get[modelplane.InferenceCluster](ctx, w.Client, clusters, "", cluster.Name)
	if err != nil {
		return nil, err
	}
	if latest.UID != cluster.UID {
		return nil, apierrors.NewConflict(modelplane.Resource("inferenceclusters"), cluster.Name,
			errors.New("it was deleted and made anew meanwhile"))
	}
	return latest, nil
}

func (w Writer) patch(ctx context.Context, cluster *modelplane.InferenceCluster, e edited) (*modelplane.InferenceCluster, error) {
	metadata := map[string]any{"uid": cluster.UID, "resourceVersion": cluster.ResourceVersion}
	if e.annotation != nil {
		metadata["annotations"] = e.annotation
	}
	spec := map[string]any{"taints": nil}
	if len(e.taints) > 0 {
		spec["taints"] = e.taints
	}
	content, err := json.Marshal(map[string]any{"metadata": metadata, "spec": spec})
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: w.Manager}
	if w.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return typed(w.Client.Resource(clusters).Patch(ctx, cluster.Name, types.MergePatchType, content, options))
}

func typed(u *unstructured.Unstructured, err error) (*modelplane.InferenceCluster, error) {
	if err != nil {
		return nil, err
	}
	cluster := &modelplane.InferenceCluster{}
	return cluster, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, cluster)
}

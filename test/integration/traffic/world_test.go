//go:build integration

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
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// newNamespace makes one that the test has to itself.
func newNamespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	require.NoError(t, hub.Client.Create(t.Context(), ns))
	return ns.Name
}

// candidate is a workload cluster that has admitted a service.
func candidate(cluster string, admitted, ready int32) ome.PlacementCandidate {
	return ome.PlacementCandidate{
		Cluster: cluster, Phase: ome.CandidateAdmitted, Endpoint: "https://" + cluster + ".example.com",
		AdmittedReplicas: admitted, ReadyReplicas: ready,
	}
}

// newService makes a service that is placed on clusters. It is deleted after the test: with
// no garbage collection on this hub, its map is as well.
func newService(t *testing.T, namespace, name string, candidates ...ome.PlacementCandidate) *ome.InferenceService {
	t.Helper()
	isvc := &ome.InferenceService{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       ome.InferenceServiceSpec{Placement: &ome.PlacementSpec{Mode: ome.PlacementAll, ClusterSelector: "accelerator=gpu"}},
	}
	require.NoError(t, hub.Client.Create(t.Context(), isvc))
	t.Cleanup(func() {
		ctx := context.Background()
		assert.NoError(t, client.IgnoreNotFound(hub.Client.Delete(ctx, isvc)))
		tm := &ome.TrafficMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		assert.NoError(t, client.IgnoreNotFound(hub.Client.Patch(ctx, tm, patch)))
		assert.NoError(t, client.IgnoreNotFound(hub.Client.Delete(ctx, tm)))
	})
	place(t, isvc, candidates...)
	return isvc
}

// place sets on which clusters a service is, as OME's placement does.
func place(t *testing.T, isvc *ome.InferenceService, candidates ...ome.PlacementCandidate) {
	t.Helper()
	update(t, isvc, func() error {
		isvc.Status.Placement = &ome.PlacementStatus{Phase: ome.PlacementPlaced, Candidates: candidates}
		return hub.Client.Status().Update(t.Context(), isvc)
	})
}

// update changes an object until the change goes through.
func update(t *testing.T, o client.Object, change func() error) {
	t.Helper()
	hubtest.Eventually(t, func() string {
		if err := hub.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err.Error()
		}
		if err := change(); err != nil {
			return err.Error()
		}
		return ""
	})
}

// annotate sets the drain annotation by hand, or removes it if value is "-".
func annotate(t *testing.T, isvc *ome.InferenceService, value string) {
	t.Helper()
	argument := ome.TrafficDrainAnnotation + "=" + value
	if value == "-" {
		argument = ome.TrafficDrainAnnotation + "-"
	}
	kubectl(t, "annotate", "inferenceservice", isvc.Name, "-n", isvc.Namespace, "--overwrite", argument)
}

func trafficMap(t *testing.T, isvc *ome.InferenceService) *ome.TrafficMap {
	t.Helper()
	tm := &ome.TrafficMap{}
	require.NoError(t, client.IgnoreNotFound(hub.Client.Get(t.Context(), client.ObjectKeyFromObject(isvc), tm)))
	return tm
}

// table is a map in short: "a=0[id-1,id-2] b=1".
func table(tm *ome.TrafficMap) string {
	var entries []string
	for _, e := range tm.Spec.Entries {
		said := fmt.Sprintf("%s=%d", e.Cluster, e.Weight)
		if len(e.DrainRefs) > 0 {
			said += "[" + strings.Join(e.DrainRefs, ",") + "]"
		}
		entries = append(entries, said)
	}
	return strings.Join(entries, " ")
}

// expectTable waits until a service's map is as given.
func expectTable(t *testing.T, isvc *ome.InferenceService, want string) *ome.TrafficMap {
	t.Helper()
	var tm *ome.TrafficMap
	hubtest.Eventually(t, func() string {
		tm = trafficMap(t, isvc)
		if got := table(tm); got != want {
			return fmt.Sprintf("the table is %q, want %q", got, want)
		}
		return ""
	})
	return tm
}

// expectCondition waits until a map's condition is as given, for the map's generation.
func expectCondition(t *testing.T, isvc *ome.InferenceService, kind string, status metav1.ConditionStatus, reason, message string) {
	t.Helper()
	hubtest.Eventually(t, func() string {
		tm := trafficMap(t, isvc)
		c := meta.FindStatusCondition(tm.Status.Conditions, kind)
		switch {
		case c == nil:
			return kind + " is absent"
		case c.Status != status || c.Reason != reason || !strings.Contains(c.Message, message):
			return fmt.Sprintf("%s is %s %s %q, want %s %s %q", kind, c.Status, c.Reason, c.Message, status, reason, message)
		case c.ObservedGeneration != tm.Generation:
			return fmt.Sprintf("%s is for generation %d of %d", kind, c.ObservedGeneration, tm.Generation)
		}
		return ""
	})
}

// expectEvent waits for an event about an object of the service's name.
func expectEvent(t *testing.T, kind string, isvc *ome.InferenceService, reason, note string) {
	t.Helper()
	hubtest.Eventually(t, func() string {
		list := &eventsv1.EventList{}
		if err := hub.Client.List(t.Context(), list, client.InNamespace(isvc.Namespace)); err != nil {
			return err.Error()
		}
		var seen []string
		for _, e := range list.Items {
			if e.Regarding.Kind != kind || e.Regarding.Name != isvc.Name {
				continue
			}
			if e.Reason == reason && strings.Contains(e.Note, note) {
				return ""
			}
			seen = append(seen, e.Reason+": "+e.Note)
		}
		return fmt.Sprintf("no event %s with %q among %q", reason, note, seen)
	})
}

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

package trafficmap

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// verify returns an error unless there is one map a service and each says what it should.
func verify(ctx context.Context, c client.Client, s shape, drained bool) error {
	list := &ome.TrafficMapList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list the maps: %w", err)
	}
	if len(list.Items) != s.services {
		return fmt.Errorf("there are %d maps of %d services", len(list.Items), s.services)
	}
	for i := range list.Items {
		if wrong := judge(&list.Items[i], s, drained); wrong != "" {
			return fmt.Errorf("TrafficMap %s: %s", list.Items[i].Name, wrong)
		}
	}
	return nil
}

// judge tells what is wrong with a map. Of its weights it knows only which are zero: what they are otherwise is tested
// elsewhere.
func judge(tm *ome.TrafficMap, s shape, drained bool) string {
	if len(tm.Spec.Entries) != s.clusters {
		return fmt.Sprintf("it has %d entries instead of %d", len(tm.Spec.Entries), s.clusters)
	}
	for _, e := range tm.Spec.Entries {
		var wanted []string
		if drained && e.Cluster == s.drained() {
			wanted = []string{drainID}
		}
		if held := len(wanted) > 0; !slices.Equal(e.DrainRefs, wanted) || (e.Weight == 0) != held {
			return fmt.Sprintf("the entry of %s has weight %d and drains %q, and should be held by %q", e.Cluster, e.Weight, e.DrainRefs, wanted)
		}
	}
	reason := ome.ReasonNoOverrides
	if drained {
		reason = ome.ReasonOverridesApplied
	}
	for kind, wanted := range map[string]string{ome.TrafficMapRoutable: ome.ReasonRoutable, ome.TrafficMapOverrideActive: reason} {
		c := meta.FindStatusCondition(tm.Status.Conditions, kind)
		if c == nil || c.Reason != wanted || c.ObservedGeneration != tm.Generation {
			return fmt.Sprintf("condition %s is %+v, and should have reason %s for generation %d", kind, c, wanted, tm.Generation)
		}
	}
	return ""
}

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
	"slices"
	"strings"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// AnnotationKey is the annotation that holds a service's drains.
const AnnotationKey = v1beta1.TrafficDrainAnnotation

// Drain holds one workload cluster at weight 0 for one service.
type Drain struct {
	// ID is the name under which a person ends the drain again.
	ID string
	// Cluster is matched exactly against the cluster of a TrafficMap entry.
	Cluster string
	// Reason is for people.
	Reason string
}

// Drains are all drains of a service, ordered by ID bytewise, each ID once.
type Drains []Drain

// Get returns the drain with the given ID.
func (ds Drains) Get(id string) (Drain, bool) {
	i, found := ds.find(id)
	if !found {
		return Drain{}, false
	}
	return ds[i], true
}

// On returns the IDs of the drains that name the cluster, in order.
func (ds Drains) On(cluster string) []string {
	var ids []string
	for _, d := range ds {
		if d.Cluster == cluster {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// Clusters returns the drained clusters, sorted, each once.
func (ds Drains) Clusters() []string {
	var clusters []string
	for _, d := range ds {
		clusters = append(clusters, d.Cluster)
	}
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

func (ds Drains) find(id string) (int, bool) {
	return slices.BinarySearchFunc(ds, id, func(d Drain, id string) int {
		return strings.Compare(d.ID, id)
	})
}

// Value is the annotation as it stands on an object. Absent and empty differ: an absent
// annotation means no drains, an empty one is malformed.
type Value struct {
	Raw     string
	Present bool
}

// ValueOf takes the drain annotation out of an object's annotations.
func ValueOf(annotations map[string]string) Value {
	raw, present := annotations[AnnotationKey]
	return Value{Raw: raw, Present: present}
}

// Parse is the package's Parse for a value that may be absent.
func (v Value) Parse() (Drains, error) {
	if !v.Present {
		return nil, nil
	}
	return Parse(v.Raw)
}

// ParseStrict is the package's ParseStrict for a value that may be absent.
func (v Value) ParseStrict() (Drains, error) {
	if !v.Present {
		return nil, nil
	}
	return ParseStrict(v.Raw)
}

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
	"errors"
	"fmt"
	"strings"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/cli/guarded"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
	"github.com/evenkeel-io/evenkeel/internal/trafficmap"
)

// decideDrain is about services that route to the cluster: their map has an entry of it.
func (fl *fleet) decideDrain(m *member) decision {
	if m.tm == nil {
		return decision{}
	}
	entry, routes := entryOf(m.tm, fl.drain.Cluster)
	if !routes {
		return decision{}
	}
	before, err := trafficdrain.ValueOf(m.service.Annotations).ParseStrict()
	if err != nil {
		return refusedFor(err)
	}
	if old, exists := before.Get(fl.drain.ID); exists {
		if old.Cluster == fl.drain.Cluster {
			return decision{verdict: verdictUnchanged, detail: fmt.Sprintf("has the drain already, at weight %d", entry.Weight)}
		}
		return decision{verdict: verdictRefused, detail: fmt.Sprintf("drain %s holds cluster %s here; choose another ID", old.ID, old.Cluster)}
	}
	change, err := trafficdrain.Add(trafficdrain.ValueOf(m.service.Annotations), fl.drain)
	if err != nil {
		return refusedFor(err)
	}
	effect := trafficmap.Preview(trafficmap.MapInput(m.tm, m.service), change.Before, change.After)
	d := decision{verdict: verdictPlanned, effect: effectOf(effect)}
	switch {
	case effect.Blackout() && !fl.allowBlackout:
		d.verdict, d.detail = verdictLeftOut, "nobody would serve it any more"
	case effect.Blackout():
		d.detail = "nobody serves it any more"
	}
	return d
}

// decideUndrain is about services that have the drain.
func (fl *fleet) decideUndrain(m *member) decision {
	value := trafficdrain.ValueOf(m.service.Annotations)
	if lenient, err := value.Parse(); err == nil {
		if _, exists := lenient.Get(fl.drain.ID); !exists {
			return decision{}
		}
	} else if !strings.Contains(value.Raw, `"`+fl.drain.ID+`"`) {
		return decision{} // malformed, but not about this drain
	}
	change, err := trafficdrain.Remove(value, fl.drain.ID)
	if err != nil {
		return refusedFor(err)
	}
	d := decision{verdict: verdictPlanned, detail: "cluster " + change.Drain.Cluster}
	if others := change.After.On(change.Drain.Cluster); len(others) > 0 {
		d.detail += " stays held by " + strings.Join(others, ", ")
	}
	if m.tm != nil {
		d.effect = effectOf(trafficmap.Preview(trafficmap.MapInput(m.tm, m.service), change.Before, change.After))
	}
	return d
}

func refusedFor(err error) decision {
	said := err.Error()
	var r *trafficdrain.Refusal
	if errors.As(err, &r) {
		said = r.Explain()
	}
	return decision{verdict: verdictRefused, detail: guarded.OneLine(said)}
}

func entryOf(tm *v1beta1.TrafficMap, cluster string) (v1beta1.TrafficMapEntry, bool) {
	for _, e := range tm.Spec.Entries {
		if e.Cluster == cluster {
			return e, true
		}
	}
	return v1beta1.TrafficMapEntry{}, false
}

// effectOf says how the weights change: "worker-a 2 -> 0".
func effectOf(effect trafficmap.Effect) string {
	var changes []string
	for i, before := range effect.Before.Entries {
		if after := effect.After.Entries[i]; after.Weight != before.Weight {
			changes = append(changes, fmt.Sprintf("%s %d -> %d", before.Cluster, before.Weight, after.Weight))
		}
	}
	if len(changes) == 0 {
		return "no weight changes"
	}
	return strings.Join(changes, ", ")
}

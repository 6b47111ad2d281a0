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

package replicas

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// TestPreemption is about a replica on east that the scheduler wants to leave for a placement of another team.
func TestPreemption(t *testing.T) {
	const (
		serving, elsewhere = "0-1 on east/0 ready", "west h:1"
		spared             = "spare placement 0-1: urgent-team/urgent-0-1 does not wait for its nodes any more"
	)
	for name, tc := range map[string]struct {
		lines     []string
		preemptor func(*evenkeel.ReplicaPlacement)
		absent    bool
		want      []string
	}{
		"it leaves": {
			lines: []string{"wants 1", "east h:1", elsewhere, serving, "endpoint east/0"},
			want:  []string{"mark 0-1: ready, leaving Preempted, Placing", "create placement 0-2 for 0-1"},
		},
		"made before it breaks, it moves": {
			lines: []string{"wants 1 surge", "east h:1", elsewhere, "0-1 on east/0 ready leaving Preempted", "0-2 for 0-1 surge excluding east on west/0 uncreated", "endpoint east/0"},
			want:  []string{"mark 0-1: ready, leaving Preempted, Loading", "create replica west/0 on west"},
		},
		"with nowhere to go it is evicted": {
			lines: []string{"wants 1", "east h:1", "0-1 on east/0 ready leaving Preempted", "0-2 for 0-1 excluding east unplaceable", "endpoint east/0"},
			want:  []string{"delete endpoint east/0", "delete replica east/0: Preempted"},
		},
		"without a destination a held one stays": {
			lines: []string{"wants 1 hold", "east h:1", "0-1 on east/0 ready leaving Preempted", "0-2 for 0-1 excluding east unplaceable", "endpoint east/0"},
			want:  []string{"mark 0-1: ready, leaving Preempted, Unplaceable"},
		},
		"a taint is the cause first": {
			lines: []string{"wants 1", "east h:1 NoExecute", elsewhere, serving, "endpoint east/0"},
			want:  []string{"mark 0-1: ready, leaving UntoleratedTaint, Placing", "create placement 0-2 for 0-1"},
		},
		"the preemptor is gone": {
			lines: []string{"wants 1", "east h:1", serving, "endpoint east/0"}, absent: true,
			want: []string{spared},
		},
		"it is another one of its name": {
			lines: []string{"wants 1", "east h:1", serving, "endpoint east/0"}, preemptor: func(p *evenkeel.ReplicaPlacement) { p.UID = "other" },
			want: []string{spared},
		},
		"it is being deleted": {
			lines: []string{"wants 1", "east h:1", serving, "endpoint east/0"}, preemptor: func(p *evenkeel.ReplicaPlacement) { p.DeletionTimestamp = &metav1.Time{Time: now} },
			want: []string{spared},
		},
		"it has a place": {
			lines: []string{"wants 1", "east h:1", serving, "endpoint east/0"},
			preemptor: func(p *evenkeel.ReplicaPlacement) {
				p.Status.Assignment = &evenkeel.Assignment{ClusterName: "east"}
			},
			want: []string{spared},
		},
		"it waits for another cluster": {
			lines: []string{"wants 1", "east h:1", serving, "endpoint east/0"}, preemptor: func(p *evenkeel.ReplicaPlacement) { p.Status.NominatedCluster = "west" },
			want: []string{spared},
		},
		"it waits for none": {
			lines: []string{"wants 1", "east h:1", "0-1 on east/0 ready leaving Preempted", "endpoint east/0"}, preemptor: func(p *evenkeel.ReplicaPlacement) { p.Status.NominatedCluster = "" },
			want: []string{spared, "mark 0-1: ready"},
		},
		"no replica is made where one would have to leave": {
			lines: []string{"wants 1", "east h:1", elsewhere, "0-1 on east/0 uncreated"},
			want:  []string{"mark 0-1: leaving Preempted", "create placement 0-2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, tc.lines...)
			preemptor := &evenkeel.ReplicaPlacement{ObjectMeta: metav1.ObjectMeta{Namespace: "urgent-team", Name: "urgent-0-1", UID: "urgent"}}
			preemptor.Status.NominatedCluster = "east"
			if tc.preemptor != nil {
				tc.preemptor(preemptor)
			}
			if !tc.absent {
				s.Preemptors = []*evenkeel.ReplicaPlacement{preemptor}
			}
			for _, p := range s.Placements {
				if p.Spec.Attempt == 1 {
					p.Status.PreemptedBy = &evenkeel.Preemptor{Namespace: "urgent-team", Name: "urgent-0-1", UID: types.UID("urgent")}
				}
			}
			s.fillInMessages()
			assert.Equal(t, tc.want, told(Decide(s.Observation).Actions))
		})
	}
}

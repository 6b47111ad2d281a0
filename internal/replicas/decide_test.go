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

	"github.com/google/go-cmp/cmp"
)

// TestDecide is the table of what is done next. Each row is an observation and the actions of one pass, in order. A pass
// first writes down what it decides; the deletions that follow from it are those of the next.
func TestDecide(t *testing.T) {
	for _, tc := range []struct {
		name  string
		given []string
		want  []string
	}{
		// From nothing to a replica that serves.
		{
			"a new deployment asks for all its places",
			[]string{"wants 2", "east h:2"},
			[]string{"create placement 0-1", "create placement 1-1"},
		},
		{
			"while the scheduler thinks, nothing happens",
			[]string{"wants 1", "east h:2", "0-1 pending"},
			nil,
		},
		{
			"a place gives a replica",
			[]string{"wants 1", "east h:2", "0-1 on east/0 uncreated"},
			[]string{"create replica east/0 on east"},
		},
		{
			"a replica that is seen is marked",
			[]string{"wants 1", "east h:2", "0-1 on east/0 loading unmarked"},
			[]string{"mark 0-1: not ready"},
		},
		{
			"a replica that serves gets an endpoint",
			[]string{"wants 1", "east h:2", "0-1 on east/0 ready"},
			[]string{"apply endpoint east/0"},
		},
		{
			"then there is nothing left to do",
			[]string{"wants 1", "east h:2", "0-1 on east/0 ready", "endpoint east/0"},
			nil,
		},
		{
			"no endpoint without a gateway",
			[]string{"wants 1", "east h:2 NoGateway", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"delete endpoint east/0"},
		},
		{
			"an endpoint of a cluster whose object is missing stays, since its address may still be right",
			[]string{"wants 1", "west h:2", "0-1 on east/0 ready settling ClusterDeleted age 1m", "endpoint east/0"},
			nil,
		},
		{
			"a replica that stops to serve loses its endpoint, not its place",
			[]string{"wants 1", "east h:2", "0-1 on east/0 loading", "endpoint east/0"},
			[]string{"delete endpoint east/0"},
		},
		{
			"an endpoint without a replica goes",
			[]string{"wants 1", "east h:2", "0-1 on east/0 ready", "endpoint east/0", "endpoint east/3"},
			[]string{"delete endpoint east/3"},
		},

		// The count.
		{
			"a slot that is free is taken again",
			[]string{"wants 3", "east h:3", "0-1 on east/0 ready", "2-1 on east/2 ready", "endpoint east/0", "endpoint east/2"},
			[]string{"create placement 1-1"},
		},
		{
			"too many: one that waits goes first",
			[]string{"wants 1", "east h:2", "0-1 on east/0 ready", "1-1 unplaceable", "endpoint east/0"},
			[]string{"delete placement 1-1: fewer replicas are wanted"},
		},
		{
			"too many: then one that must leave anyway",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready", "1-1 on west/0 ready", "endpoint east/0", "endpoint west/0"},
			[]string{"mark 0-1: ready, leaving ScaleDown"},
		},
		{
			"too many: then one that does not serve",
			[]string{"wants 1", "east h:2", "west h:2", "0-1 on east/0 loading", "1-1 on west/0 ready", "endpoint west/0"},
			[]string{"mark 0-1: not ready, leaving ScaleDown"},
		},
		{
			"too many: then Modelplane's order, the fullest cluster first",
			[]string{"wants 2", "east h:2", "west h:2", "0-1 on east/0 ready", "1-1 on east/1 ready", "2-1 on west/0 ready",
				"endpoint east/0", "endpoint east/1", "endpoint west/0"},
			[]string{"mark 1-1: ready, leaving ScaleDown"},
		},
		{
			"what was chosen is deleted, traffic first",
			[]string{"wants 1", "east h:2", "0-1 on east/0 ready", "1-1 on east/1 ready leaving ScaleDown", "endpoint east/0", "endpoint east/1"},
			[]string{"delete endpoint east/1", "delete replica east/1: ScaleDown"},
		},
		{
			"what was chosen stays the choice, even if another one were worse by now",
			[]string{"wants 1", "east h:2", "0-1 on east/0 loading", "1-1 on east/1 ready leaving ScaleDown", "endpoint east/1"},
			[]string{"delete endpoint east/1", "delete replica east/1: ScaleDown"},
		},
		{
			"one that is going is not counted, and does not go twice",
			[]string{"wants 1", "east h:2", "0-1 on east/0 ready", "1-1 on east/1 terminating leaving ScaleDown", "endpoint east/0"},
			nil,
		},
		{
			"one that is gone leaves nothing behind",
			[]string{"wants 1", "east h:2", "0-1 on east/0 ready", "1-1 on east/1 gone leaving ScaleDown", "endpoint east/0"},
			[]string{"delete placement 1-1: its replica is gone: ScaleDown"},
		},
		{
			"wanted again before it was deleted: it stays",
			[]string{"wants 2", "east h:2", "0-1 on east/0 ready", "1-1 on east/1 ready leaving ScaleDown", "endpoint east/0", "endpoint east/1"},
			[]string{"mark 1-1: ready"},
		},
		{
			"wanted again after it was deleted: another slot, since its own is not free yet",
			[]string{"wants 2", "east h:2", "0-1 on east/0 ready", "1-1 on east/1 terminating leaving ScaleDown", "endpoint east/0"},
			[]string{"create placement 2-1"},
		},
		{
			"scaled down in the middle of a move: origin and replacement go",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "north h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 on west/0 uncreated",
				"1-1 on north/0 ready", "endpoint east/0", "endpoint north/0"},
			[]string{"mark 0-1: ready, leaving ScaleDown", "delete placement 0-2: fewer replicas are wanted"},
		},

		// A drain, step by step.
		{
			"a taint is written down, and a replacement asked for",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"NoSchedule moves nothing",
			[]string{"wants 1", "east h:2 NoSchedule", "west h:2", "0-1 on east/0 ready", "endpoint east/0"},
			nil,
		},
		{
			"neither does a taint that is tolerated",
			[]string{"wants 1 tolerates acme.test/noexecute", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready", "endpoint east/0"},
			nil,
		},
		{
			"the replica serves until its replacement has a place",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east pending", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Placing"},
		},
		{
			"then it goes, traffic first",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0"},
			[]string{"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"not before it is written down that it must",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Deleting"},
		},
		{
			"while it goes, the replacement is made on the other cluster",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 terminating leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated"},
			[]string{"create replica west/0 on west"},
		},
		{
			"when it is gone, its placement becomes history",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 gone leaving UntoleratedTaint", "0-2 for 0-1 on west/0 loading"},
			[]string{"mark 0-1: not ready, leaving UntoleratedTaint, moved from east to west, Moved", "mark 0-2: not ready, Loading"},
		},
		{
			"the move ends when the replacement serves",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 gone leaving UntoleratedTaint moved UntoleratedTaint", "0-2 for 0-1 on west/0 ready"},
			[]string{"mark 0-2: ready, Serving", "apply endpoint west/0"},
		},
		{
			"one at a time: the second waits for the first to serve",
			[]string{"wants 2", "east h:2 NoExecute", "west h:2", "0-1 on east/0 gone leaving UntoleratedTaint moved UntoleratedTaint",
				"0-2 for 0-1 on west/0 loading", "1-1 on east/1 ready leaving UntoleratedTaint", "endpoint east/1"},
			[]string{"mark 0-2: not ready, Loading"},
		},
		{
			"one at a time, also if both could go",
			[]string{"wants 2", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated",
				"1-1 on east/1 ready leaving UntoleratedTaint", "1-2 for 1-1 excluding east on west/1 uncreated", "endpoint east/0", "endpoint east/1"},
			[]string{"mark 1-1: ready, leaving UntoleratedTaint, Waiting",
				"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"the one with a destination goes before the one without, whatever their order",
			[]string{"wants 2", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east pending",
				"1-1 on east/1 ready leaving UntoleratedTaint", "1-2 for 1-1 excluding east on west/0 uncreated", "endpoint east/0", "endpoint east/1"},
			[]string{"delete endpoint east/1", "delete replica east/1: UntoleratedTaint"},
		},
		{
			"a sibling that still loads holds up the move",
			[]string{"wants 2", "east h:2 NoExecute", "west h:2", "0-1 on west/0 loading age 9m", "1-1 on east/1 ready leaving UntoleratedTaint", "endpoint east/1"},
			nil,
		},
		{
			"but not for longer than readyTimeout",
			[]string{"wants 2", "east h:2 NoExecute", "west h:2", "0-1 on west/0 loading age 10m", "1-1 on east/1 ready leaving UntoleratedTaint", "endpoint east/1"},
			[]string{"create placement 1-2 for 1-1"},
		},
		{
			"what does not serve needs no turn",
			[]string{"wants 2", "east h:2 NoExecute", "west h:2", "0-1 on east/0 loading leaving UntoleratedTaint", "1-1 on east/1 loading leaving UntoleratedTaint"},
			[]string{"create placement 0-2 for 0-1", "create placement 1-2 for 1-1"},
		},
		{
			"what does not serve goes as soon as its replacement has a place",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 loading leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated"},
			[]string{"delete replica east/0: UntoleratedTaint"},
		},

		{
			"a step that lasts is written down",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 terminating long leaving UntoleratedTaint", "0-2 for 0-1 on west/0 loading"},
			[]string{"mark 0-1: not ready, leaving UntoleratedTaint, Deleting", "mark 0-2: not ready, Loading"},
		},

		// A drain with nowhere to go.
		{
			"the tail: nothing else in motion, so it is deleted although it has nowhere to go",
			[]string{"wants 1", "east h:2 NoExecute", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable", "endpoint east/0"},
			[]string{"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"the tail waits for others that can move",
			[]string{"wants 2", "east h:2 NoExecute", "west h:1", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable",
				"1-1 on east/1 ready leaving UntoleratedTaint", "endpoint east/0", "endpoint east/1"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Unplaceable", "create placement 1-2 for 1-1"},
		},
		{
			"the tail waits for one that loads",
			[]string{"wants 2", "east h:2 NoExecute", "west h:1", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable",
				"1-2 on west/0 loading", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Unplaceable"},
		},
		{
			"the tail goes one by one",
			[]string{"wants 2", "east h:2 NoExecute", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable",
				"1-1 on east/1 ready leaving UntoleratedTaint", "1-2 for 1-1 excluding east unplaceable", "endpoint east/0", "endpoint east/1"},
			[]string{"mark 1-1: ready, leaving UntoleratedTaint, Unplaceable",
				"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"the next of the tail, while the first is still going",
			[]string{"wants 2", "east h:2 NoExecute", "0-1 on east/0 terminating leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable",
				"1-1 on east/1 ready leaving UntoleratedTaint", "1-2 for 1-1 excluding east unplaceable", "endpoint east/1"},
			[]string{"delete endpoint east/1", "delete replica east/1: UntoleratedTaint"},
		},
		{
			"a verdict on an older wish is none",
			[]string{"wants 1 tolerates acme.test/other", "east h:2 NoExecute", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable generation 2", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Placing"},
		},
		{
			"gone with nowhere to go: history, and the replacement waits",
			[]string{"wants 1", "east h:2 NoExecute", "0-1 on east/0 gone leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable"},
			[]string{"mark 0-1: not ready, leaving UntoleratedTaint, left east with nowhere to go: 0/1 clusters are available: 1 full., Moved"},
		},
		{
			"the cluster is free again: what waits may go there, which is no move back",
			[]string{"wants 1", "east h:2", "0-1 on east/0 gone leaving UntoleratedTaint moved UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable"},
			[]string{"update placement 0-2"},
		},

		// A drain that is called off.
		{
			"lifted before anything began",
			[]string{"wants 1", "east h:2", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "endpoint east/0"},
			[]string{"mark 0-1: ready"},
		},
		{
			"lifted while the scheduler thinks: the replacement goes",
			[]string{"wants 1", "east h:2", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east pending", "endpoint east/0"},
			[]string{"mark 0-1: ready", "delete placement 0-2: what it was to replace may stay"},
		},
		{
			"lifted before the deletion: the replacement goes, though it has a place",
			[]string{"wants 1", "east h:2", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 on west/0 uncreated", "endpoint east/0"},
			[]string{"mark 0-1: ready", "delete placement 0-2: what it was to replace may stay"},
		},
		{
			"lifted after the deletion: the move goes on",
			[]string{"wants 1", "east h:2", "west h:2", "0-1 on east/0 terminating leaving UntoleratedTaint", "0-2 for 0-1 on west/0 uncreated"},
			[]string{"create replica west/0 on west"},
		},
		{
			"lifted after the move: nothing moves back",
			[]string{"wants 1", "east h:2", "west h:2", "0-1 on east/0 gone leaving UntoleratedTaint moved UntoleratedTaint", "0-2 on west/0 ready", "endpoint west/0"},
			nil,
		},

		// A destination that is lost.
		{
			"the destination is drained before the replica is made: another one",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2 NoExecute", "north h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 on west/0 uncreated", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Placing", "mark 0-2: leaving UntoleratedTaint", "create placement 0-3 for 0-1"},
		},
		{
			"and the lost one goes",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2 NoExecute", "north h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 on west/0 uncreated leaving UntoleratedTaint",
				"0-3 for 0-1 excluding east,west pending", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Placing", "delete placement 0-2: its place was lost before its replica was made"},
		},
		{
			"the destination is drained while the replica loads: it is itself on its way",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2 NoExecute", "north h:2", "0-1 on east/0 terminating leaving UntoleratedTaint", "0-2 for 0-1 on west/0 loading"},
			[]string{"mark 0-2: not ready, leaving UntoleratedTaint, Placing", "create placement 0-3 for 0-2"},
		},
		{
			"on the same cluster the old one must be gone first, or both would be charged to the same nodes",
			[]string{"wants 1 engine other", "east h:1", "0-1 on east/0 terminating leaving TemplateChanged", "0-2 for 0-1 on east/1 engine other uncreated"},
			nil,
		},

		{
			"somebody deletes the placement that is being replaced: its nodes are not free, so the replacement starts anew",
			[]string{"wants 1", "east h:1", "replica chat-32a9b on east/0 ready", "0-2 for 0-1 on east/1 uncreated"},
			[]string{"create placement 1-1 adopting east/0", "create placement 0-3"},
		},

		// Other causes.
		{
			"a template that the replica cannot follow",
			[]string{"wants 1 engine other", "east h:1", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving TemplateChanged, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"a template that it can follow is stamped in place",
			[]string{"wants 1 copies 3", "east h:1", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"update replica east/0: [spec.engines]"},
		},
		{
			"a lost pool must stay lost for a while",
			[]string{"wants 1", "east n:1", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, settling PoolLost"},
		},
		{
			"not long enough",
			[]string{"wants 1", "east n:1", "0-1 on east/0 ready settling PoolLost age 4m", "endpoint east/0"},
			nil,
		},
		{
			"long enough",
			[]string{"wants 1", "east n:1", "0-1 on east/0 ready settling PoolLost age 5m", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving PoolLost, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"a pool of a cluster that is not ready is not lost",
			[]string{"wants 1", "east n:1 NotReady", "0-1 on east/0 ready settling PoolLost age 5m", "endpoint east/0"},
			[]string{"mark 0-1: ready"},
		},
		{
			"a cluster without a status is not ready",
			[]string{"wants 1", "east NoStatus", "0-1 on east/0 ready"},
			nil,
		},
		{
			"a deleted cluster must stay away for a while, too",
			[]string{"wants 1", "west h:1", "0-1 on east/0 ready"},
			[]string{"mark 0-1: ready, settling ClusterDeleted"},
		},
		{
			"and is left then",
			[]string{"wants 1", "west h:1", "0-1 on east/0 ready settling ClusterDeleted age 5m"},
			[]string{"mark 0-1: ready, leaving ClusterDeleted, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"no cluster at all is more likely a mistake than a wish",
			[]string{"wants 1", "0-1 on east/0 ready leaving ClusterDeleted"},
			[]string{"mark 0-1: ready"},
		},
		{
			"a cluster that is not selected any more is left after a while",
			[]string{"wants 1 selects tier=a", "east h:1 label tier=b", "west h:1 label tier=a", "0-1 on east/0 ready settling ClusterNotSelected age 5m", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving ClusterNotSelected, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"a selector that selects nothing moves nothing",
			[]string{"wants 1 selects tier=c", "east h:1 label tier=b", "west h:1 label tier=a", "0-1 on east/0 ready settling ClusterNotSelected age 5m", "endpoint east/0"},
			[]string{"mark 0-1: ready"},
		},
		{
			"a selector that does not compile moves nothing and places nothing",
			[]string{"wants 2 cel ))", "east n:1", "0-1 on east/0 ready", "endpoint east/0"},
			nil,
		},
		{
			"but a drain goes on, without a replacement",
			[]string{"wants 2 cel ))", "east h:1 NoExecute", "west h:1", "0-1 on east/0 ready leaving UntoleratedTaint", "endpoint east/0"},
			[]string{"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"and ends",
			[]string{"wants 2 cel ))", "east h:1 NoExecute", "west h:1", "0-1 on east/0 gone leaving UntoleratedTaint"},
			[]string{"mark 0-1: not ready, leaving UntoleratedTaint, left east, Moved"},
		},

		// What others do to replicas.
		{
			"deleted by hand: replaced",
			[]string{"wants 1", "east h:2", "0-1 on east/0 terminating"},
			[]string{"mark 0-1: not ready, leaving ReplicaDeleted, Deleting", "create placement 0-2 for 0-1"},
		},
		{
			"deleted by hand and gone: replaced, not made again",
			[]string{"wants 1", "east h:2", "0-1 on east/0 gone", "endpoint east/0"},
			[]string{"mark 0-1: not ready, leaving ReplicaDeleted", "delete endpoint east/0", "create placement 0-2 for 0-1"},
		},
		{
			"and its placement ends when there is another",
			[]string{"wants 1", "east h:2", "0-1 on east/0 gone leaving ReplicaDeleted", "0-2 for 0-1 on east/1 uncreated"},
			[]string{"mark 0-1: not ready, leaving ReplicaDeleted, moved from east to east, Moved", "create replica east/1 on east"},
		},
		{
			"its label taken away by hand: put back",
			[]string{"wants 1", "east h:2", "replica chat-32a9b on east/0 ready unlabelled", "0-1 on east/0 uncreated"},
			[]string{"mark 0-1: ready", "update replica east/0: [metadata.labels]", "apply endpoint east/0"},
		},
		{
			"a replica of that name without an owner or a label is somebody else's",
			[]string{"wants 1", "east h:2", "replica chat-32a9b on east/0 ready unlabelled unowned", "0-1 on east/0 uncreated"},
			[]string{"mark 0-1: rejected NameTaken", "create placement 0-2"},
		},
		{
			"the name belongs to somebody else",
			[]string{"wants 1", "east h:2", "replica chat-32a9b on east/0 foreign", "0-1 on east/0 uncreated"},
			[]string{"mark 0-1: rejected NameTaken", "create placement 0-2"},
		},
		{
			"and is left to them",
			[]string{"wants 1", "east h:2", "replica chat-32a9b on east/0 foreign", "0-1 on east/0 uncreated taken", "0-2 on east/1 uncreated"},
			[]string{"delete placement 0-1: its place was lost before its replica was made", "create replica east/1 on east"},
		},
		{
			"refused by the API server: not at once again",
			[]string{"wants 1", "east h:2", "west h:2", "0-1 on east/0 uncreated refused age 9s"},
			nil,
		},
		{
			"refused by the API server: another cluster",
			[]string{"wants 1", "east h:2", "west h:2", "0-1 on east/0 uncreated refused age 10s"},
			[]string{"create placement 0-2"},
		},

		// Adoption.
		{
			"replicas that were there before get placements",
			[]string{"wants 3", "east h:3", "replica chat-32a9b on east/0 ready", "replica chat-f7a54 on east/1 ready"},
			[]string{"create placement 0-1 adopting east/0", "create placement 1-1 adopting east/1"},
		},
		{
			"and these are assigned before anything new is placed",
			[]string{"wants 3", "east h:3", "replica chat-32a9b on east/0 ready", "0-1 adopts chat-32a9b"},
			[]string{"assign placement 0-1 to east/0"},
		},
		{
			"a retained one is not written to",
			[]string{"wants 1", "east h:3", "replica chat-32a9b on east/0 ready", "0-1 adopts chat-32a9b on east/0", "endpoint east/0"},
			[]string{"mark 0-1: ready"},
		},
		{
			"one without an owner gets it",
			[]string{"wants 1", "east h:3", "replica chat-32a9b on east/0 unowned", "0-1 adopts chat-32a9b on east/0"},
			[]string{"mark 0-1: not ready", "update replica east/0: [metadata.ownerReferences]"},
		},
		{
			"one that cannot stay moves like any other",
			[]string{"wants 1 engine other", "east h:3", "replica chat-32a9b on east/0 ready", "0-1 adopts chat-32a9b on east/0", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving TemplateChanged, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"of two with one identity the first by name counts; the other goes when all is well",
			[]string{"wants 1", "east p1:1,p2:1", "replica chat-east-0-copy on east/0(p2) ready", "replica chat-east-0 on east/0(p1) ready"},
			[]string{"create placement 0-1 adopting east-0"},
		},
		{
			"also while the first is being adopted",
			[]string{"wants 2", "east h:4", "replica a on east/0 index 0", "replica b on east/1 index two", "0-1 adopts a"},
			[]string{"assign placement 0-1 to east/0"},
		},
		{
			"now all is well",
			[]string{"wants 1", "east p1:1,p2:1", "replica chat-east-0-copy on east/0(p2) ready", "replica chat-east-0 on east/0(p1) ready", "0-1 adopts chat-east-0 on east/0(p1) unmarked"},
			[]string{"mark 0-1: ready", "delete replica east-0-copy: a second replica of east/0", "apply endpoint east-0"},
		},
		{
			"an index that is no number is 0",
			[]string{"wants 2", "east h:4", "replica a on east/0 index 0", "replica b on east/1 index two"},
			[]string{"create placement 0-1 adopting a"},
		},
		{
			"one that does not say where it is, is surplus",
			[]string{"wants 1", "east h:4", "replica a on east/0 ready poolless"},
			[]string{"create placement 0-1"},
		},
		{
			"one that is going is not adopted",
			[]string{"wants 1", "east h:4", "replica chat-32a9b on east/0 terminating"},
			[]string{"create placement 0-1"},
		},
		{
			"one of another owner is not adopted",
			[]string{"wants 1", "east h:4", "replica chat-32a9b on east/0 ready foreign"},
			[]string{"create placement 0-1"},
		},
		{
			"the replica to adopt is gone meanwhile",
			[]string{"wants 1", "east h:4", "0-1 adopts chat-32a9b"},
			[]string{"delete placement 0-1: the replica to adopt is gone"},
		},

		// Reasons not to place.
		{"the cache is not known yet", []string{"wants 1 cache unresolved", "east h:4"}, nil},
		{"the cache does not exist", []string{"wants 1 cache missing", "east h:4"}, nil},
		{"what runs stays without its cache", []string{"wants 2 cache missing", "east h:4", "0-1 on east/0 ready", "endpoint east/0"}, nil},
		{
			"the count is lowered without a cache",
			[]string{"wants 1 cache missing", "east h:4", "0-1 on east/0 ready", "1-1 on east/1 ready", "endpoint east/0", "endpoint east/1"},
			[]string{"mark 1-1: ready, leaving ScaleDown"},
		},
		{
			"a drain without a cache removes and does not refill",
			[]string{"wants 1 cache missing", "east h:4 NoExecute", "west h:4", "0-1 on east/0 ready leaving UntoleratedTaint", "endpoint east/0"},
			[]string{"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{"the priority class does not exist", []string{"wants 1 class urgent missing", "east h:4"}, nil},
		{
			"moves are paused",
			[]string{"wants 1 paused", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Waiting"},
		},

		// Edits while the scheduler thinks.
		{
			"an edited template reaches what waits",
			[]string{"wants 1", "east h:2", "0-1 pending", "wants 1 tolerates acme.test/x"},
			[]string{"update placement 0-1"},
		},

		// History.
		{
			"is kept for a day",
			[]string{"wants 1", "east h:2", "0-2 on east/0 ready", "endpoint east/0", "0-1 on west/0 gone moved UntoleratedTaint age 23h"},
			nil,
		},
		{
			"and not for longer",
			[]string{"wants 1", "east h:2", "0-2 on east/0 ready", "endpoint east/0", "0-1 on west/0 gone moved UntoleratedTaint age 24h"},
			[]string{"delete placement 0-1: its history has expired"},
		},
		{
			"attempts go on counting from it",
			[]string{"wants 1", "east h:2", "0-4 on west/0 gone moved UntoleratedTaint"},
			[]string{"create placement 0-5"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := told(Decide(newScene(t, tc.given...).Observation).Actions)
			if tc.want == nil {
				tc.want = []string{}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

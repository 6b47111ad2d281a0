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

import "testing"

// TestDecideCause is about other reasons to leave, what people do by hand, and adoption. Each row is an observation and the actions of one pass, in order. A
// pass first writes down what it decides; the deletions that follow from it are those of the next.
func TestDecideCause(t *testing.T) {
	runDecisions(t, []decision{
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
			[]string{"mark 0-1: not ready, leaving UntoleratedTaint, left east within 2m0s, Moved"},
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
			[]string{"mark 0-1: not ready, leaving ReplicaDeleted, moved from east to east within 2m0s, Moved", "create replica east/1 on east"},
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
			"all is not well while the first one does not serve",
			[]string{"wants 1", "east p1:1,p2:1", "replica chat-east-0-copy on east/0(p2) ready", "replica chat-east-0 on east/0(p1)", "0-1 adopts chat-east-0 on east/0(p1) unmarked"},
			[]string{"mark 0-1: not ready"},
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
	})
}

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

// TestDecideCount is about how many replicas there are, and how one comes to serve. Each row is an observation and the actions of one pass, in order. A
// pass first writes down what it decides; the deletions that follow from it are those of the next.
func TestDecideCount(t *testing.T) {
	runDecisions(t, []decision{
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
			"more are wanted while a cluster is not ready: what runs there stays, and counts",
			[]string{"wants 2", "east h:2 NotReady", "west h:2", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"create placement 1-1"},
		},
		{
			"or while no cluster can be seen",
			[]string{"wants 2", "0-1 on east/0 ready", "endpoint east/0"},
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
			"what is deleted gets no endpoint in its last moment",
			[]string{"wants 1", "east h:2", "0-1 on east/0 ready", "1-1 on east/1 ready leaving ScaleDown", "endpoint east/0"},
			[]string{"delete replica east/1: ScaleDown"},
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

		{
			"moves are paused, also of what does not serve",
			[]string{"wants 1 paused", "east h:2 NoExecute", "west h:2", "0-1 on east/0 loading leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated"},
			[]string{"mark 0-1: not ready, leaving UntoleratedTaint, Waiting"},
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
	})
}

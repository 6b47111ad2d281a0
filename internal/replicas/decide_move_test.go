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

// TestDecideMove is about drains, from the taint to the end. Each row is an observation and the actions of one pass, in order. A
// pass first writes down what it decides; the deletions that follow from it are those of the next.
func TestDecideMove(t *testing.T) {
	runDecisions(t, []decision{
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
			[]string{"mark 0-1: not ready, leaving UntoleratedTaint, moved from east to west within 2m0s, Moved", "mark 0-2: not ready, Loading"},
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
			"a replacement that had its place for long has its time from when the old one went",
			[]string{"wants 2", "east h:2 NoExecute", "west h:2", "0-1 on east/0 terminating leaving UntoleratedTaint", "0-2 for 0-1 on west/0 uncreated age 12m",
				"1-1 on east/1 ready leaving UntoleratedTaint", "endpoint east/1"},
			[]string{"create replica west/0 on west"},
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
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Deleting", "mark 0-2: not ready, Loading"},
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
			[]string{"mark 0-1: not ready, leaving UntoleratedTaint, left east within 2m0s with nowhere to go: 0/1 clusters are available: 1 full., Moved"},
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

		{
			"called off when both serve: the first stays, and no third is made",
			[]string{"wants 1", "east h:2", "west h:2", "0-1 on east/0 ready", "0-2 for 0-1 on west/0 ready leaving ScaleDown", "endpoint east/0", "endpoint west/0"},
			[]string{"mark 0-2: ready, leaving ScaleDown, Serving", "delete endpoint west/0", "delete replica west/0: ScaleDown"},
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
			"the template is edited while the old one is still going: the place that was found is given up for another",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 terminating leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 engine older uncreated"},
			[]string{"mark 0-2: leaving TemplateChanged", "create placement 0-3 for 0-1"},
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
	})
}

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

// TestDecideSurge is about MakeBeforeBreak ("surge"), Hold, pause and budgets.
func TestDecideSurge(t *testing.T) {
	runDecisions(t, []decision{
		// MakeBeforeBreak, step by step.
		{
			"the replacement needs nodes of its own",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "endpoint east/0"},
			[]string{"create placement 0-2 for 0-1, surge"},
		},
		{
			"it is made while the old one serves",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge excluding east on west/0 uncreated", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Loading", "create replica west/0 on west"},
		},
		{
			"while it loads nothing is deleted",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Loading", "mark 0-2: not ready, Loading"},
		},
		{
			"when it serves the old one goes",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 ready", "endpoint east/0", "endpoint west/0"},
			[]string{"mark 0-2: ready, Serving", "delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"when the old one is gone, its placement becomes history",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 gone leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 ready", "endpoint west/0"},
			[]string{"mark 0-1: not ready, leaving UntoleratedTaint, moved from east to west within 2m0s, Moved", "mark 0-2: ready, Serving"},
		},
		{
			"an old one that does not serve waits for its replacement to serve all the same: it may recover",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 loading leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading"},
			[]string{"mark 0-1: not ready, leaving UntoleratedTaint, Loading", "mark 0-2: not ready, Loading"},
		},
		{
			"one at a time, also with a budget of none: nothing is out of service",
			[]string{"wants 2 surge unavailable 0", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading",
				"1-1 on east/1 ready leaving UntoleratedTaint", "endpoint east/0", "endpoint east/1"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Loading", "mark 0-2: not ready, Loading"},
		},
		{
			"two at a time",
			[]string{"wants 2 surge unavailable 2", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 uncreated",
				"1-1 on east/1 ready leaving UntoleratedTaint", "1-2 for 1-1 surge on west/1 uncreated", "endpoint east/0", "endpoint east/1"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Loading", "mark 1-1: ready, leaving UntoleratedTaint, Loading", "create replica west/0 on west", "create replica west/1 on west"},
		},
		{
			"a replacement that serves needs no turn for the rest",
			[]string{"wants 3 surge", "east h:2 NoExecute", "west h:3", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 ready",
				"2-1 on west/2 loading", "endpoint east/0", "endpoint west/0", "1-1 on west/1 ready", "endpoint west/1"},
			[]string{"mark 0-2: ready, Serving", "delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"on the same cluster, for a new template, with room for both",
			[]string{"wants 1 surge engine other", "east h:2", "0-1 on east/0 ready leaving TemplateChanged", "0-2 for 0-1 surge on east/1 engine other uncreated", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving TemplateChanged, Loading", "create replica east/1 on east"},
		},
		{
			"the strategy was edited when the place of the old one had been promised: another place is asked for",
			[]string{"wants 1 surge engine other", "east h:1", "west h:1", "0-1 on east/0 ready leaving TemplateChanged", "0-2 for 0-1 on east/1 engine other uncreated", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving TemplateChanged, Placing", "create placement 0-3 for 0-1, surge"},
		},
		{
			"and the promised one is given back",
			[]string{"wants 1 surge engine other", "east h:1", "west h:1", "0-1 on east/0 ready leaving TemplateChanged", "0-2 for 0-1 on east/1 engine other uncreated", "0-3 for 0-1 surge pending", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving TemplateChanged, Placing", "delete placement 0-2: its place was lost before its replica was made"},
		},
		{
			"edited while the scheduler thinks: what waits needs nodes of its own now",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east pending", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Placing", "update placement 0-2"},
		},
		{
			"edited to Recreate while the replacement loads: the old one goes",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading", "endpoint east/0"},
			[]string{"mark 0-2: not ready, Loading", "delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},

		// The replacement is lost.
		{
			"the replacement's cluster is drained too: it goes, and another one is asked for",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2 NoExecute", "north h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading leaving UntoleratedTaint", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Placing", "delete replica west/0: UntoleratedTaint", "create placement 0-3 for 0-2, surge"},
		},
		{
			"if it serves and the old one does not, it is the one to be kept until there is another",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2 NoExecute", "north h:2", "0-1 on east/0 loading leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 ready leaving UntoleratedTaint", "endpoint west/0"},
			[]string{"delete replica east/0: UntoleratedTaint", "create placement 0-3 for 0-2, surge"},
		},
		{
			"somebody deletes the replacement",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 gone leaving ReplicaDeleted", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Placing", "mark 0-2: not ready, leaving ReplicaDeleted, left west within 2m0s, Moved", "create placement 0-3 for 0-1, surge"},
		},
		{
			"a replacement that does not serve in time is taken back",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading age 10m", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Waiting", "mark 0-2: not ready, leaving ReplacementNotServing, Deleting"},
		},
		{
			"and deleted, while the old one serves on",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading leaving ReplacementNotServing age 10m", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Waiting", "mark 0-2: not ready, leaving ReplacementNotServing, Deleting", "delete replica west/0: ReplacementNotServing"},
		},
		{
			"not before its time",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading age 9m", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Loading", "mark 0-2: not ready, Loading"},
		},

		// The taint is lifted, or fewer replicas are wanted.
		{
			"lifted while the replacement loads: it goes",
			[]string{"wants 1 surge", "east h:2", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading", "endpoint east/0"},
			[]string{"mark 0-1: ready", "mark 0-2: not ready, leaving ScaleDown, Loading"},
		},
		{
			"lifted when both serve: the old one stays",
			[]string{"wants 1 surge", "east h:2", "west h:2", "0-1 on east/0 ready", "0-2 for 0-1 surge on west/0 ready leaving ScaleDown", "endpoint east/0", "endpoint west/0"},
			[]string{"mark 0-2: ready, leaving ScaleDown, Serving", "delete endpoint west/0", "delete replica west/0: ScaleDown"},
		},
		{
			"lifted when only the replacement serves: it stays, and the old one goes",
			[]string{"wants 1 surge", "east h:2", "west h:2", "0-1 on east/0 loading", "0-2 for 0-1 surge on west/0 ready", "endpoint west/0"},
			[]string{"mark 0-1: not ready, leaving ScaleDown", "mark 0-2: ready, Serving"},
		},
		{
			"fewer wanted: what moves goes first, with its replacement",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on west/1 ready", "1-1 on east/0 ready leaving ScaleDown", "1-2 for 1-1 surge on west/0 loading leaving ScaleDown", "endpoint east/0", "endpoint west/1"},
			[]string{"mark 1-2: not ready, leaving ScaleDown, Loading", "delete endpoint east/0", "delete replica east/0: ScaleDown", "delete replica west/0: ScaleDown"},
		},

		// Nowhere to go.
		{
			"Hold keeps what serves",
			[]string{"wants 1 hold", "east h:2 NoExecute", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Unplaceable"},
		},
		{
			"and what does not: it may recover",
			[]string{"wants 1 hold", "east h:2 NoExecute", "0-1 on east/0 loading leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable"},
			[]string{"mark 0-1: not ready, leaving UntoleratedTaint, Unplaceable"},
		},
		{
			"Hold lets go what has a destination",
			[]string{"wants 1 hold", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0"},
			[]string{"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"MakeBeforeBreak holds, whatever the policy says of what is unplaceable",
			[]string{"wants 1 surge", "east h:2 NoExecute", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge excluding east unplaceable", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Unplaceable"},
		},
		{
			"nothing can be placed at all: no list of targets is no target",
			[]string{"wants 1 surge cache missing", "east h:2 NoExecute", "0-1 on east/0 ready leaving UntoleratedTaint", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Unplaceable"},
		},

		// Budgets and pause.
		{
			"a budget of none moves nothing that serves",
			[]string{"wants 1 unavailable 0", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "endpoint east/0"},
			nil,
		},
		{
			"nor evicts it",
			[]string{"wants 1 unavailable 0", "east h:2 NoExecute", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east unplaceable", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Unplaceable"},
		},
		{
			"but lets go what does not serve",
			[]string{"wants 1 unavailable 0", "east h:2 NoExecute", "west h:2", "0-1 on east/0 loading leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated"},
			[]string{"delete replica east/0: UntoleratedTaint"},
		},
		{
			"two at a time",
			[]string{"wants 2 unavailable 2", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated",
				"1-1 on east/1 ready leaving UntoleratedTaint", "1-2 for 1-1 excluding east on west/1 uncreated", "endpoint east/0", "endpoint east/1"},
			[]string{"delete endpoint east/0", "delete endpoint east/1", "delete replica east/0: UntoleratedTaint", "delete replica east/1: UntoleratedTaint"},
		},
		{
			"paused: nothing begins",
			[]string{"wants 1 paused", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Waiting"},
		},
		{
			"paused while the replacement loads, for however long: both stay",
			[]string{"wants 1 surge paused", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading age 1h", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Waiting", "mark 0-2: not ready, Loading"},
		},
		{
			"paused when the old one is going: the move ends",
			[]string{"wants 1 paused", "east h:2 NoExecute", "west h:2", "0-1 on east/0 terminating leaving UntoleratedTaint", "0-2 for 0-1 on west/0 uncreated"},
			[]string{"create replica west/0 on west"},
		},
		{
			"a replica that somebody deleted comes back, paused or not",
			[]string{"wants 1 paused", "east h:2", "0-1 on east/0 gone leaving ReplicaDeleted"},
			[]string{"create placement 0-2 for 0-1"},
		},

		// The next try.
		{
			"after a replacement was taken back there is a pause",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 gone leaving ReplacementNotServing moved ReplacementNotServing age 50s", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Waiting"},
		},
		{
			"then comes the next try",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 gone leaving ReplacementNotServing moved ReplacementNotServing age 61s", "endpoint east/0"},
			[]string{"create placement 0-3 for 0-1, surge"},
		},
		{
			"the second pause is twice as long",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint",
				"0-2 for 0-1 surge on west/0 gone leaving ReplacementNotServing moved ReplacementNotServing age 20m",
				"0-3 for 0-1 surge on west/0 gone leaving ReplacementNotServing moved ReplacementNotServing age 61s", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Waiting"},
		},
		{
			"an edited template is worth a try at once",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint",
				"0-2 for 0-1 surge older on west/0 gone leaving ReplacementNotServing moved ReplacementNotServing age 1s", "endpoint east/0"},
			[]string{"create placement 0-3 for 0-1, surge"},
		},
	})
}

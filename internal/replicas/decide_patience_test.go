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

// TestDecidePatience is about taints that are tolerated for a time, clusters that are not ready for long, and the brake.
func TestDecidePatience(t *testing.T) {
	const until = "the taint acme.test/noexecute:NoExecute is tolerated until "
	runDecisions(t, []decision{
		// Tolerated for a time, that counts from when the taint was added.
		{
			"while the time runs the replica stays, and says until when",
			[]string{"wants 1 tolerates acme.test/noexecute for 60", "east h:2 NoExecute added 59s", "west h:2", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, " + until + "2026-03-01T12:00:01Z"},
		},
		{
			"when it is over the replica must leave",
			[]string{"wants 1 tolerates acme.test/noexecute for 60", "east h:2 NoExecute added 60s", "west h:2", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"more seconds count at once: the move is called off",
			[]string{"wants 1 tolerates acme.test/noexecute for 90", "east h:2 NoExecute added 60s", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0"},
			[]string{"mark 0-1: ready, " + until + "2026-03-01T12:00:30Z", "delete placement 0-2: what it was to replace may stay"},
		},
		{
			"so do fewer",
			[]string{"wants 1 tolerates acme.test/noexecute for 30", "east h:2 NoExecute added 59s", "west h:2", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"none at all is now",
			[]string{"wants 1 tolerates acme.test/noexecute for 0", "east h:2 NoExecute added 0s", "west h:2", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"fewer than none too",
			[]string{"wants 1 tolerates acme.test/noexecute for -1", "east h:2 NoExecute added 0s", "west h:2", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"of several tolerations the longest counts",
			[]string{"wants 1 tolerates acme.test/noexecute for 10 tolerates acme.test/noexecute for 60", "east h:2 NoExecute added 59s", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, " + until + "2026-03-01T12:00:01Z"},
		},
		{
			"in whatever order",
			[]string{"wants 1 tolerates acme.test/noexecute for 60 tolerates acme.test/noexecute for 10", "east h:2 NoExecute added 59s", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, " + until + "2026-03-01T12:00:01Z"},
		},
		{
			"of several taints the earliest counts",
			[]string{"wants 1 tolerates acme.test/noexecute for 60", "east h:2 NoExecute added 10s NoExecute added 20s", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, " + until + "2026-03-01T12:00:40Z"},
		},
		{
			"a taint that is gone takes its clock with it",
			[]string{"wants 1 tolerates acme.test/noexecute for 60", "east h:2", "0-1 on east/0 ready settling Tolerating", "endpoint east/0"},
			[]string{"mark 0-1: ready"},
		},
		{
			"also if one stays that is tolerated for good",
			[]string{"wants 1 tolerates acme.test/noexecute", "east h:2 NoExecute added 1h", "0-1 on east/0 ready settling Tolerating", "endpoint east/0"},
			[]string{"mark 0-1: ready"},
		},
		{
			"a taint that does not say since when is timed from when it is first seen",
			[]string{"wants 1 tolerates acme.test/noexecute for 60", "east h:2 NoExecute", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: seen acme.test/noexecute:NoExecute, ready, " + until + "2026-03-01T12:01:00Z"},
		},
		{
			"which is remembered",
			[]string{"wants 1 tolerates acme.test/noexecute for 60", "east h:2 NoExecute", "0-1 on east/0 ready settling Tolerating seen 30s", "endpoint east/0"},
			nil,
		},
		{
			"so that the time ends",
			[]string{"wants 1 tolerates acme.test/noexecute for 60", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready settling Tolerating seen 60s", "endpoint east/0"},
			[]string{"mark 0-1: seen acme.test/noexecute:NoExecute, ready, leaving UntoleratedTaint, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"a replica is brought to the template meanwhile",
			[]string{"wants 1 tolerates acme.test/noexecute for 60 copies 2", "east h:2 NoExecute added 59s", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, " + until + "2026-03-01T12:00:01Z", "update replica east/0: [spec.engines]"},
		},
		{
			"where nothing runs yet the place is given up at once",
			[]string{"wants 1 tolerates acme.test/noexecute for 60", "east h:2 NoExecute added 1s", "west h:2", "0-1 on east/0 uncreated"},
			[]string{"mark 0-1: leaving UntoleratedTaint", "create placement 0-2"},
		},

		// A cluster that is not ready for long.
		{
			"for ever, if nobody asked for more",
			[]string{"wants 1", "east h:2 NotReady since 100h", "west h:2", "0-1 on east/0 ready", "endpoint east/0"},
			nil,
		},
		{
			"not for less than degradedAfter",
			[]string{"wants 1 degraded 10m", "east h:2 NotReady since 9m", "west h:2", "0-1 on east/0 ready", "endpoint east/0"},
			nil,
		},
		{
			"after that the replica leaves",
			[]string{"wants 1 degraded 10m", "east h:2 NotReady since 10m", "west h:2", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving ClusterDegraded, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"unless more than half of the fleet is not ready",
			[]string{"wants 1 degraded 10m", "east h:2 NotReady since 10m", "west h:2 NotReady since 1m", "north h:2", "0-1 on east/0 ready", "endpoint east/0"},
			[]string{"mark 0-1: ready, settling ClusterDegraded"},
		},

		// The brake.
		{
			"a lost pool that lasts moves the replica",
			[]string{"wants 1", "east n:2", "west h:2", "north h:2", "0-1 on east/0 ready settling PoolLost age 5m", "fleet shows PoolLost on 1", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving PoolLost, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"not while more than half of the fleet shows it",
			[]string{"wants 1", "east n:2", "west h:2", "north h:2", "0-1 on east/0 ready settling PoolLost age 5m", "fleet shows PoolLost on 2", "endpoint east/0"},
			nil,
		},
		{
			"half of it is not more than half",
			[]string{"wants 1", "east n:2", "west h:2", "north h:2", "south h:2", "0-1 on east/0 ready settling PoolLost age 5m", "fleet shows PoolLost on 2", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving PoolLost, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"one cluster is no fleet",
			[]string{"wants 1", "east n:2", "0-1 on east/0 ready settling PoolLost age 5m", "fleet shows PoolLost on 1", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving PoolLost, Placing", "create placement 0-2 for 0-1"},
		},
		{
			"which also stops moves that had begun",
			[]string{"wants 1", "east n:2", "west h:2", "north h:2", "0-1 on east/0 ready leaving PoolLost age 5m", "0-2 for 0-1 on west/0 uncreated", "fleet shows PoolLost on 2", "endpoint east/0"},
			[]string{"mark 0-1: ready, settling PoolLost", "delete placement 0-2: what it was to replace may stay"},
		},
		{
			"a taint is somebody's wish, however many clusters have it",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2 NoExecute", "north h:2", "0-1 on east/0 ready", "fleet shows UntoleratedTaint on 2", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Placing", "create placement 0-2 for 0-1"},
		},
	})
}

// TestDecideFleet is about limits that all deployments share.
func TestDecideFleet(t *testing.T) {
	runDecisions(t, []decision{
		{
			"no turn, no replacement",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "fleet moves 2 of 2", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Waiting"},
		},
		{
			"a turn is free",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "fleet moves 1 of 2", "endpoint east/0"},
			[]string{"create placement 0-2 for 0-1"},
		},
		{
			"taken by others while the scheduler thought: it waits with its place",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "fleet moves 2 of 2", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Waiting"},
		},
		{
			"what has begun goes on",
			[]string{"wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 ready", "fleet moves 2 of 2", "endpoint east/0", "endpoint west/0"},
			[]string{"mark 0-2: ready, Serving", "delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"its own moves count too",
			[]string{"wants 2 unavailable 2", "east h:2 NoExecute", "west h:2", "0-1 on east/0 gone leaving UntoleratedTaint moved UntoleratedTaint", "0-2 for 0-1 on west/0 loading",
				"1-1 on east/1 ready leaving UntoleratedTaint", "1-2 for 1-1 excluding east on west/1 uncreated", "fleet moves 1 of 2", "endpoint east/1"},
			[]string{"mark 0-2: not ready, Loading", "mark 1-1: ready, leaving UntoleratedTaint, Waiting"},
		},
		{
			"enough load on the destination already",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "fleet loading west 3 of 3", "endpoint east/0"},
			[]string{"mark 0-1: ready, leaving UntoleratedTaint, Waiting"},
		},
		{
			"elsewhere there is room",
			[]string{"wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "fleet loading north 3 of 3", "endpoint east/0"},
			[]string{"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"a replacement that has had its time takes nobody's turn",
			[]string{"wants 2", "east h:2 NoExecute", "west h:2", "0-1 on east/0 gone leaving UntoleratedTaint moved UntoleratedTaint", "0-2 for 0-1 on west/0 loading age 11m",
				"1-1 on east/1 ready leaving UntoleratedTaint", "1-2 for 1-1 excluding east on west/1 uncreated", "fleet moves 0 of 1", "endpoint east/1"},
			[]string{"mark 0-2: not ready, Loading", "delete endpoint east/1", "delete replica east/1: UntoleratedTaint"},
		},
	})
}

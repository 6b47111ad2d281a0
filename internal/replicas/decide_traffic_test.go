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

// TestDecideTraffic is about a hub with ModelServices and HTTPRoutes: a replica serves when a route names it, and is not
// deleted while one does.
func TestDecideTraffic(t *testing.T) {
	const byDeployment = "service modelplane.ai/deployment=chat asked 10m"
	runDecisions(t, []decision{
		// Serving.
		{
			"ready is not yet served: the services are asked to look",
			[]string{byDeployment, "wants 1", "east h:2", "0-1 on east/0 ready unrouted", "endpoint east/0"},
			[]string{"hurry service front/front-0"},
		},
		{
			"asked in the same moment: it may not have seen the endpoint, and is asked once more",
			[]string{"service modelplane.ai/deployment=chat asked 59s", "wants 1", "east h:2", "0-1 on east/0 ready unrouted", "endpoint east/0"},
			[]string{"hurry service front/front-0"},
		},
		{
			"that is enough",
			[]string{"service modelplane.ai/deployment=chat asked 55s", "wants 1", "east h:2", "0-1 on east/0 ready unrouted", "endpoint east/0"},
			nil,
		},
		{
			"a route names it",
			[]string{byDeployment, "wants 1", "east h:2", "0-1 on east/0 ready unrouted", "endpoint east/0", "route east/0"},
			[]string{"mark 0-1: ready, served"},
		},
		{
			"no service wants it: ready is all that it can be",
			[]string{"service tier=other", "wants 1", "east h:2", "0-1 on east/0 ready unrouted", "endpoint east/0"},
			[]string{"mark 0-1: ready, served"},
		},
		{
			"a replacement that is ready and not routed does not let the old one go",
			[]string{byDeployment, "wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 ready unrouted", "endpoint east/0", "route east/0", "endpoint west/0"},
			[]string{"mark 0-1: ready, served, leaving UntoleratedTaint, Loading", "mark 0-2: ready, not served, Loading", "hurry service front/front-0"},
		},
		{
			"nor lets the next one begin",
			[]string{byDeployment, "wants 2", "east h:2 NoExecute", "west h:2", "0-1 on west/0 ready unrouted", "endpoint west/0", "1-1 on east/0 ready routed leaving UntoleratedTaint", "endpoint east/0", "route east/0"},
			[]string{"hurry service front/front-0"},
		},

		// A replacement that loads.
		{
			"that it loads is told by what it replaces",
			[]string{byDeployment, "wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading unmarked", "endpoint east/0", "route east/0"},
			[]string{"mark 0-1: ready, served, leaving UntoleratedTaint, Loading"},
		},
		{
			"when a route names it, all is told at once",
			[]string{byDeployment, "wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 ready unmarked", "endpoint east/0", "route east/0", "endpoint west/0", "route west/0"},
			[]string{"mark 0-2: ready, served, Serving", "apply endpoint east/0", "hurry service front/front-0"},
		},
		{
			"ready for long, and no route names it: that is told",
			[]string{byDeployment, "wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 ready unmarked", "endpoint east/0", "route east/0", "endpoint west/0"},
			[]string{"mark 0-1: ready, served, leaving UntoleratedTaint, Loading", "mark 0-2: ready, not served, Loading", "hurry service front/front-0"},
		},
		{
			"so is one that loads beyond readyTimeout",
			[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-2 for 0-1 excluding east on west/0 loading unmarked age 11m"},
			[]string{"mark 0-2: not ready, not served"},
		},
		{
			"one that is deleted before that is replaced as any other",
			[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-2 for 0-1 excluding east on west/0 terminating unmarked"},
			[]string{"mark 0-2: not ready, leaving ReplicaDeleted, Deleting", "create placement 0-3 for 0-2"},
		},

		// Withdrawing.
		{
			"first its traffic: the labels that services select by, then the services are asked to look",
			[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0", "route east/0"},
			[]string{"apply endpoint east/0", "hurry service front/front-0"},
		},
		{
			"while a route names it, it is waited for",
			[]string{"service modelplane.ai/deployment=chat asked 4s", "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 4s", "route east/0"},
			nil,
		},
		{
			"if that takes long, the placement says so",
			[]string{"service modelplane.ai/deployment=chat asked 14s", "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 20s", "route east/0"},
			[]string{"mark 0-1: ready, served, leaving UntoleratedTaint, withdrawing, Withdrawing"},
		},
		{
			"a service that was not asked since is asked again",
			[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 4s", "route east/0"},
			[]string{"hurry service front/front-0"},
		},
		{
			"no route names it any more: what it has begun may end",
			[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 20s unrouted 9s"},
			nil,
		},
		{
			"then it is deleted",
			[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 20s unrouted 10s"},
			[]string{"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"nobody has seen since when no route names it: from now on",
			[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 20s"},
			nil,
		},
		{
			"but not without end",
			[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 100s"},
			[]string{"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"what the placement says of it counts",
			[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint withdrawn 10s", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 40s"},
			[]string{"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"and is kept true",
			[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint withdrawing 10s", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 40s unrouted 1s"},
			[]string{"mark 0-1: ready, served, leaving UntoleratedTaint, withdrawn, Withdrawing"},
		},
		{
			"a route that goes on naming it is not waited for without end",
			[]string{byDeployment, "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 90s", "route east/0"},
			[]string{"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"what no service wants has no traffic to be taken away",
			[]string{"service tier=other", "wants 1", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0"},
			[]string{"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"scale-down takes the traffic away first too",
			[]string{byDeployment, "wants 1", "east h:2", "west h:2", "0-1 on east/0 ready routed", "1-1 on west/0 ready routed leaving ScaleDown", "endpoint east/0", "route east/0", "endpoint west/0", "route west/0"},
			[]string{"apply endpoint west/0", "hurry service front/front-0"},
		},
		{
			"wanted again meanwhile: its traffic comes back",
			[]string{byDeployment, "wants 2", "east h:2", "west h:2", "0-1 on east/0 ready routed", "1-1 on west/0 ready routed leaving ScaleDown", "endpoint east/0", "route east/0", "endpoint west/0 stripped 10s", "route west/0"},
			[]string{"mark 1-1: ready, served", "apply endpoint west/0"},
		},
		{
			"the taint is lifted when the traffic is going: the move goes on",
			[]string{byDeployment, "wants 1", "east h:2", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 on west/0 uncreated", "endpoint east/0 stripped 20s unrouted 10s"},
			[]string{"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"the replacement stops to serve meanwhile: the traffic of the old one comes back",
			[]string{byDeployment, "wants 1 surge", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 surge on west/0 loading unrouted", "endpoint east/0 stripped 10s", "route east/0"},
			[]string{"mark 0-1: ready, served, leaving UntoleratedTaint, Loading", "mark 0-2: not ready, not served, Loading", "apply endpoint east/0"},
		},
		{
			"paused when the traffic is going: the move goes on",
			[]string{byDeployment, "wants 1 paused", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 20s unrouted 10s"},
			[]string{"delete endpoint east/0", "delete replica east/0: UntoleratedTaint"},
		},
		{
			"also while a route still names it",
			[]string{"service modelplane.ai/deployment=chat asked 5s", "wants 1 paused", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated", "endpoint east/0 stripped 10s", "route east/0"},
			[]string{"mark 0-1: ready, served, leaving UntoleratedTaint, withdrawing, Withdrawing"},
		},
		{
			"the hub has lost its routes since: there is nothing to wait for",
			[]string{"wants 1", "east h:2", "west h:2", "0-1 on east/0 ready", "1-1 on west/0 ready leaving UntoleratedTaint withdrawing 10s", "endpoint east/0", "endpoint west/0"},
			[]string{"mark 1-1: ready, leaving ScaleDown"},
		},
		{
			"one that is withdrawing counts as out of service",
			[]string{"service modelplane.ai/deployment=chat asked 14s", "wants 2", "east h:2 NoExecute", "west h:2", "0-1 on east/0 ready routed leaving UntoleratedTaint", "0-2 for 0-1 excluding east on west/0 uncreated age 20m", "endpoint east/0 stripped 20s", "route east/0",
				"1-1 on east/1 ready routed leaving UntoleratedTaint", "1-2 for 1-1 excluding east on west/1 uncreated", "endpoint east/1", "route east/1"},
			[]string{"mark 0-1: ready, served, leaving UntoleratedTaint, withdrawing, Withdrawing", "mark 1-1: ready, served, leaving UntoleratedTaint, Waiting"},
		},
	})
}

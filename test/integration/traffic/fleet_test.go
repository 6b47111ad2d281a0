//go:build integration

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
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// fields gives the lines of a table by the name of the service, spaces made one.
func fields(output string) map[string]string {
	lines := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(output), "\n") {
		if parts := strings.Fields(line); len(parts) > 1 {
			lines[parts[1]] = strings.Join(parts[2:], " ")
		}
	}
	return lines
}

// TestTheFleet drains one cluster for every service, takes up what was left, and ends it.
func TestTheFleet(t *testing.T) {
	startManager(t, "")
	namespace := newNamespace(t)
	both := newService(t, namespace, "both", candidate("worker-a", 4, 4), candidate("worker-b", 2, 2))
	lone := newService(t, namespace, "lone", candidate("worker-a", 1, 1))
	elsewhere := newService(t, namespace, "elsewhere", candidate("worker-b", 1, 1))
	broken := newService(t, namespace, "broken", candidate("worker-a", 1, 1), candidate("worker-b", 1, 1))
	expectTable(t, both, "worker-a=2 worker-b=1")
	expectTable(t, lone, "worker-a=1")
	expectTable(t, elsewhere, "worker-b=1")
	expectTable(t, broken, "worker-a=1 worker-b=1")
	annotate(t, broken, "null")

	drain := []string{"evenkeel", "traffic", "drain", "--all-services", "-n", namespace, "--workload-cluster=worker-a", "--id=rack-2", "--reason=rack 2 moves"}
	o := ask(t, drain...).answer("n\r")
	assert.Equal(t, 1, o.code)
	plan := fields(o.stderr)
	assert.Equal(t, "Planned worker-a 2 -> 0 -", plan["both"])
	assert.Equal(t, "LeftOut worker-a 1 -> 0 nobody would serve it any more", plan["lone"])
	assert.Contains(t, plan["broken"], "Refused - top-level value must be a JSON object")
	assert.NotContains(t, plan, "elsewhere")
	assert.Contains(t, o.stderr, "1 to change, 0 as wanted already, 1 left out, 1 refused.")
	assert.Equal(t, "worker-a=2 worker-b=1", table(trafficMap(t, both)), "no is no")

	o = run(t, append(drain, "--yes")...)
	assert.Equal(t, 1, o.code)
	assert.Contains(t, o.stderr, "error: traffic drain failed for 1 of 3 services; mend what DETAIL says and run it again\n")
	assert.Equal(t, "Done worker-a 2 -> 0 -", fields(o.stdout)["both"])
	expectTable(t, both, "worker-a=0[rack-2] worker-b=1")

	annotate(t, broken, "-")
	expectTable(t, broken, "worker-a=1 worker-b=1")
	o = run(t, append(drain, "--yes")...)
	assert.Equal(t, 2, o.code, "one is left")
	assert.Contains(t, o.stderr, "error: 1 of 3 services still send traffic to worker-a")
	assert.Equal(t, "Unchanged - has the drain already, at weight 0", fields(o.stdout)["both"])
	assert.Equal(t, "Done worker-a 1 -> 0 -", fields(o.stdout)["broken"])
	expectTable(t, broken, "worker-a=0[rack-2] worker-b=1")

	o = run(t, append(drain, "--yes", "--allow-blackout")...)
	require.Zero(t, o.code, o.stderr)
	expectTable(t, lone, "worker-a=0[rack-2]")
	require.NoError(t, hub.Client.Get(t.Context(), client.ObjectKeyFromObject(lone), lone))
	assert.Equal(t, "rack-2", lone.Annotations["evenkeel.io/allow-blackout"])

	annotate(t, elsewhere, `{"typo":{"cluster":"worker-z","reason":"r"}}`)
	listed := fields(kubectl(t, "evenkeel", "traffic", "drains", "-n", namespace))
	assert.Equal(t, "rack-2 worker-a Applied rack 2 moves", listed["both"])
	assert.Equal(t, "typo worker-z Pending r", listed["elsewhere"])
	listed = fields(kubectl(t, "evenkeel", "traffic", "drains", "-A", "--workload-cluster=worker-a"))
	assert.Contains(t, listed, "broken")
	assert.NotContains(t, listed, "elsewhere")

	o = run(t, "evenkeel", "traffic", "undrain", "--all-services", "-n", namespace, "--id=rack-2", "--yes")
	require.Zero(t, o.code, o.stderr)
	assert.Equal(t, "Done worker-a 0 -> 2 cluster worker-a", fields(o.stdout)["both"])
	expectTable(t, both, "worker-a=2 worker-b=1")
	expectTable(t, lone, "worker-a=1")
	for _, isvc := range []client.Object{both, lone, broken} {
		require.NoError(t, hub.Client.Get(t.Context(), client.ObjectKeyFromObject(isvc), isvc))
		assert.NotContains(t, isvc.GetAnnotations(), trafficdrain.AnnotationKey)
	}
}

// TestFleetVerbsAreEvenkeels checks that the plugin has under OME's name what OME's has.
func TestFleetVerbsAreEvenkeels(t *testing.T) {
	o := run(t, "ome", "traffic", "drain", "--all-services", "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes")
	assert.Equal(t, 1, o.code)
	assert.True(t, strings.HasPrefix(o.stderr, "error: invalid traffic action flags; use --help\n"), o.stderr)
	o = run(t, "ome", "traffic", "drains")
	assert.Equal(t, 1, o.code)
}

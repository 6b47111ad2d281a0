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
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

const entriesPath = `jsonpath={range .spec.entries[*]}{.cluster}{" weight="}{.weight}{" drainRefs="}{.drainRefs}{"\n"}{end}`

// Values that differ from run to run.
var (
	uid             = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	resourceVersion = regexp.MustCompile(`(?m)^(ResourceVersion +)[0-9]+$`)
	age             = regexp.MustCompile(`(?m)([0-9]+[dhms])+( |$)`)
)

func steady(output string) string {
	output = strings.ReplaceAll(output, "\r\n", "\n")
	output = uid.ReplaceAllString(output, "UID")
	output = resourceVersion.ReplaceAllString(output, "${1}RV")
	return age.ReplaceAllString(output, "AGE$2")
}

func same(t *testing.T, want, got string) {
	t.Helper()
	assert.Empty(t, cmp.Diff(strings.TrimPrefix(want, "\n"), steady(got)))
}

// TestDrainAClusterPage follows OME's page about draining a cluster, command by command, and
// compares what is printed field by field.
func TestDrainAClusterPage(t *testing.T) {
	startManager(t, gatewayConfig)
	chat := newService(t, "prod", "chat", candidate("worker-a", 2, 2), candidate("worker-b", 2, 2))
	expectTable(t, chat, "worker-a=1 worker-b=1")
	entries := func() string { return kubectl(t, "get", "trafficmap", "chat", "-n", "prod", "-o", entriesPath) }
	same(t, `
worker-a weight=1 drainRefs=
worker-b weight=1 drainRefs=
`, entries())

	o := ask(t, "ome", "traffic", "drain", "chat", "-n", "prod",
		"--workload-cluster", "worker-a", "--id", "maintenance-a", "--reason", "planned maintenance").answer("y\r")
	require.Zero(t, o.code, o.stderr)
	same(t, `
ALPHA guarded traffic action (not TrafficMap convergence)
FIELD             VALUE
Action            traffic drain
Context           hub
Workload NS       prod
Target            InferenceService/chat
UID               UID
ResourceVersion   RV
Dry-run           none
Override ID       maintenance-a
Cluster           worker-a
Reason            "planned maintenance"
Override count    0 -> 1
Annotation        ome.io/traffic-drain
Follow-up         kubectl ome traffic status chat -n prod --context=hub
API acceptance is not TrafficMap convergence or data-plane realization.
The exact InferenceService UID/resourceVersion is tested atomically.
Other annotations and traffic-drain override IDs are preserved.
Run the previewed traffic status command to observe controller evidence.
Confirm this exact action? [y/N] y
`, o.stderr)
	same(t, `
FIELD         VALUE
action        traffic drain
target        InferenceService/prod/chat
dry-run       none
accepted      Yes
applied       Yes
override-id   maintenance-a
cluster       worker-a
overrides     0 -> 1
message       API accepted traffic annotation request; not TrafficM...
follow-up     kubectl ome traffic status chat -n prod --context=hub
hint          Use -o json or -o yaml for full values.
`, o.stdout)

	expectTable(t, chat, "worker-a=0[maintenance-a] worker-b=1")
	same(t, `
worker-a weight=0 drainRefs=["maintenance-a"]
worker-b weight=1 drainRefs=
`, entries())
	expectCondition(t, chat, ome.TrafficMapOverrideActive, metav1.ConditionTrue, "OverridesApplied", "1 of 1 traffic-drain annotation override(s) active across 1 route arm(s)")
	expectCondition(t, chat, ome.TrafficMapPublished, metav1.ConditionTrue, "Published", `by publisher "gatewayapi"`)
	same(t, `
NAME   MODE   PUBLISHED   ROUTABLE   OVERRIDE   REASON     AGE
chat   All    True        True       True       Routable   AGE
`, kubectl(t, "get", "trafficmap", "chat", "-n", "prod"))
	same(t, `
NAME   MODE   TARGETS   ROUTABLE   PUBLISHED   AGE
chat   All    2         True       True        AGE
`, kubectl(t, "ome", "get", "trafficmap", "chat", "-n", "prod"))
	same(t, `
{"maintenance-a":{"cluster":"worker-a","reason":"planned maintenance"}}
`, kubectl(t, "get", "inferenceservice", "chat", "-n", "prod", "-o", `jsonpath={.metadata.annotations.ome\.io/traffic-drain}{"\n"}`))
	same(t, `
FIELD          COMP   VALUE                                                  SOURCE
STATE          -      Unavailable                                            Computed/Unverifiable
TRANSLATOR     -      Unavailable                                            Unavailable/Unavailable
ALGORITHM      -      Unknown                                                Unavailable/Unavailable
POLICY-READY   -      Unknown/NotReported                                    Unavailable/Unavailable
UNSUPPORTED    -      Unknown                                                Unavailable/Unavailable
ROUTES         -      0                                                      Unavailable/Unavailable
ENDPOINTS      -      0                                                      Reported/Unverifiable
ISSUE          -      TrafficStatusMissing                                   Computed/Unverifiable
DRAIN          -      maintenance-a worker-a Applied "planned maintenance"   Declared/Current
ENTRY          -      worker-a weight=0 Drained drainRefs=maintenance-a      Reported/Current
ENTRY          -      worker-b weight=1                                      Reported/Current
TRAFFICMAP     -      Routable=True/Routable                                 Reported/Current
TRAFFICMAP     -      OverrideActive=True/OverridesApplied                   Reported/Current
TRAFFICMAP     -      Published=True/Published                               Reported/Current
`, kubectl(t, "ome", "traffic", "status", "chat", "-n", "prod"))

	o = ask(t, "ome", "traffic", "undrain", "chat", "-n", "prod", "--id", "maintenance-a").answer("YES\r")
	require.Zero(t, o.code, o.stderr)
	same(t, `
FIELD         VALUE
action        traffic undrain
target        InferenceService/prod/chat
dry-run       none
accepted      Yes
applied       Yes
override-id   maintenance-a
cluster       worker-a
overrides     1 -> 0
message       API accepted traffic annotation request; not TrafficM...
follow-up     kubectl ome traffic status chat -n prod --context=hub
hint          Use -o json or -o yaml for full values.
`, o.stdout)
	assert.Contains(t, steady(o.stderr), "Reason            \"planned maintenance\"\n")
	expectTable(t, chat, "worker-a=1 worker-b=1")
	same(t, `
worker-a weight=1 drainRefs=
worker-b weight=1 drainRefs=
`, entries())
	assert.NotContains(t, kubectl(t, "get", "inferenceservice", "chat", "-n", "prod", "-o", "yaml"), ome.TrafficDrainAnnotation)
}

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

package get

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
)

func condition(kind, reason string, status metav1.ConditionStatus, generation int64) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, ObservedGeneration: generation}
}

func chatMap(now time.Time) v1beta1.TrafficMap {
	return v1beta1.TrafficMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "chat", Generation: 5, CreationTimestamp: metav1.NewTime(now.Add(-3 * time.Hour))},
		Spec: v1beta1.TrafficMapSpec{Service: "chat", Mode: v1beta1.PlacementAll, Entries: []v1beta1.TrafficMapEntry{
			{Cluster: "worker-a", Healthy: true, DrainRefs: []string{"a"}}, {Cluster: "worker-b", Weight: 1, Healthy: true}, {Cluster: "worker-c"},
		}},
		Status: v1beta1.TrafficMapStatus{
			GatewayRef:                   &v1beta1.TrafficMapGatewayRef{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Name: "chat-global"},
			ObservedTrafficMapGeneration: 4,
			Conditions: []metav1.Condition{
				condition(v1beta1.TrafficMapRoutable, "Routable", metav1.ConditionTrue, 5),
				condition(v1beta1.TrafficMapOverrideActive, "OverridesApplied", metav1.ConditionTrue, 5),
				// From before the drain.
				condition(v1beta1.TrafficMapPublished, "Published", metav1.ConditionTrue, 4),
			},
		},
	}
}

func TestTables(t *testing.T) {
	now := time.Date(2026, 9, 14, 17, 0, 0, 0, time.UTC)
	fresh := chatMap(now)
	fresh.Name = "fresh"
	fresh.Status.ObservedTrafficMapGeneration = 5
	fresh.Status.Conditions[2].ObservedGeneration = 5
	empty := v1beta1.TrafficMap{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "empty", Generation: 1, CreationTimestamp: metav1.NewTime(now)}}
	list := []v1beta1.TrafficMap{chatMap(now), fresh, empty}
	for name, tc := range map[string]struct {
		all    bool
		output string
		want   string
	}{
		"table": {false, cli.FormatTable, `NAME    MODE   TARGETS   ROUTABLE   PUBLISHED   AGE
chat    All    3         True       Unknown     3h
fresh   All    3         True       True        3h
empty   -      0         Unknown    Unknown     0s
`},
		"all namespaces, wide": {true, cli.FormatWide, `NAMESPACE   NAME    MODE   TARGETS   ROUTABLE   PUBLISHED   AGE   SERVICE   ACTIVE   HEALTHY   OVERRIDE   OVERRIDE-REASON    REASON     GATEWAY                                                PUBLISHER-FRESHNESS
prod        chat    All    3         True       Unknown     3h    chat      1        2         True       OverridesApplied   Routable   gateway.networking.k8s.io/HTTPRoute:prod/chat-global   Stale
prod        fresh   All    3         True       True        3h    chat      1        2         True       OverridesApplied   Routable   gateway.networking.k8s.io/HTTPRoute:prod/chat-global   Current
dev         empty   -      0         Unknown    Unknown     0s              0        0         Unknown    -                  -          -                                                      Unobserved
`},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			o := &trafficMaps{
				Factory:       cli.NewFactory(cli.OME, genericiooptions.IOStreams{Out: &out}),
				allNamespaces: tc.all, output: tc.output, now: func() time.Time { return now },
			}
			require.NoError(t, o.print(list))
			assert.Equal(t, tc.want, out.String())
		})
	}
}

func TestErrors(t *testing.T) {
	resource := v1beta1.Resource("trafficmaps")
	for want, err := range map[string]error{
		"get trafficmaps prod/chat: NotFound":                          apierrors.NewNotFound(resource, "chat"),
		"get trafficmaps prod/chat: Forbidden":                         apierrors.NewForbidden(resource, "chat", nil),
		"get trafficmaps prod/chat: Unauthorized":                      apierrors.NewUnauthorized("no"),
		"get trafficmaps prod/chat: Unavailable":                       apierrors.NewServiceUnavailable("later"),
		"get trafficmaps prod/chat: OMEAPIMissing (install OME first)": apierrors.NewGenericServerResponse(404, "get", resource, "", "", 0, true),
	} {
		var said *cli.Error
		require.ErrorAs(t, getError("prod/chat", err), &said)
		assert.Equal(t, want, said.Message)
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"trafficmaps", "-o=xml"}, {"TrafficMap", "chat", "-A"}, {"tm", "a", "b"}} {
		f := cli.NewFactory(cli.OME, genericiooptions.IOStreams{Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}})
		cmd := NewOMECommand(f)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(args)
		assert.Error(t, cmd.ExecuteContext(t.Context()), "%v", args)
	}
}

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

package placement

import (
	"strings"
	"testing"
	"unicode/utf8"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func FuzzPlace(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(checkPlace(NewMatcher(), true)))
}

// What may stay can be stamped, and what may not cannot: Retain and Resolve must never disagree.
func checkRetain(m *Matcher) func(*rapid.T) {
	return func(t *rapid.T) {
		g := gen{T: t, wild: true}
		engines, published := g.engines(), g.pools()
		assigned := g.assigned(engines)
		c := cluster("east")
		in := RetainInput{
			Engines: engines, Assigned: assigned, ClusterName: g.text("cluster", "east"), Cluster: &c, Pools: PreparePools(published),
		}
		cause := m.Retain(in)
		_, err := m.Resolve(engines, assigned, in.Pools)
		if m.Validate(engines) == nil && len(assigned) > 0 && (cause == nil) != (err == nil) {
			t.Fatalf("retain says %v and resolve says %v", cause, err)
		}
		for pool, nodes := range m.Cost(engines, assigned, in.Pools) {
			if nodes < 1 {
				t.Fatalf("pool %q is charged %d", pool, nodes)
			}
		}

		in.Tolerations, c.Spec.Taints = g.tolerations(), g.taints()
		if rapid.Bool().Draw(t, "selects") {
			in.Selector = &modelplane.LabelSelector{MatchLabels: map[string]string{g.text("label", "tier"): "prod"}}
		}
		if rapid.Bool().Draw(t, "stamped") {
			d := deployment("chat", 1, g.template()...)
			in.Stamped = running(d, "east", 0, g.text("on pool", "a", "b", "c")).Spec.Engines
		}
		if rapid.Bool().Draw(t, "assignment unknown") {
			in.Assigned = nil
		}
		checkCause(t, m.Retain(in), in)
	}
}

func checkCause(t *rapid.T, cause *Cause, in RetainInput) {
	drained := len(Untolerated(in.Tolerations, in.Cluster.Spec.Taints, modelplane.TaintEffectNoExecute)) > 0
	if drained != (cause != nil && cause.Reason == evenkeel.CauseTaint) {
		t.Fatalf("drained is %v and the cause %v", drained, cause)
	}
	if cause == nil {
		return
	}
	switch cause.Reason {
	case evenkeel.CauseTaint, evenkeel.CauseSelector, evenkeel.CauseTemplate, evenkeel.CausePool:
	default:
		t.Fatalf("unknown reason %q", cause.Reason)
	}
	if cause.Message == "" || len(cause.Message) > maxShownError || !utf8.ValidString(cause.Message) {
		t.Fatalf("message %q", cause.Message)
	}
}

func TestRetainAgreesWithResolve(t *testing.T) {
	rapid.Check(t, checkRetain(NewMatcher()))
}

func FuzzRetain(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(checkRetain(NewMatcher())))
}

// FuzzSelector compiles and evaluates any expression on a device with any text in it.
func FuzzSelector(f *testing.F) {
	for _, expression := range []string{
		atLeast(80), fabricIs("ib"), `device.driver == "x"`, `not ) valid (`, `"5"`, `device.attributes["d"].n`, "", "\xff",
		`device.attributes["d"].v.isGreaterThan(semver("9.0.0"))`, `isQuantity("20Mo")`, `quantity("1e" + "9999999").isInteger()`,
		`cel.bind(a, device.attributes["d"], a.s == "x" && a.v.major() > 1)`, `device.attributes.all(d, d != "x")`,
		`device.capacity["d"].q.add(quantity("1E")).compareTo(quantity("1Ei")) > 0`,
	} {
		f.Add(expression, "d/name", "text", "1.2.3", "141Gi")
	}
	f.Add("true", "a/b/c", "\xff", "9.0", "1e100000000")
	m := NewMatcher()
	f.Fuzz(func(t *testing.T, expression, name, text, version, quantity string) {
		published := modelplane.GPUPool{Name: "p", Nodes: 1, Devices: []modelplane.Device{{
			Driver: "d", Count: new(int64),
			Attributes: map[string]modelplane.DeviceAttribute{"s": {String: &text}, name: {String: &text}, "v": {Version: &version}},
			Capacity:   map[string]modelplane.DeviceCapacity{"q": {Value: quantity}, name: {Value: quantity}},
		}}}
		*published.Devices[0].Count = 1
		requirements := RequirementsOf([]modelplane.Engine{single("main", ask("gpu", 1, expression))})
		pools := PreparePools([]modelplane.GPUPool{published})
		err := m.Validate(requirements)
		if err != nil && (len(err.Error()) > 2048 || !utf8.ValidString(err.Error())) {
			t.Fatalf("%d bytes of message", len(err.Error()))
		}
		decision, shortage := m.Place(requirements, pools, func(string) int64 { return 1 })
		again, _ := NewMatcher().Place(requirements, pools, func(string) int64 { return 1 })
		if (decision == nil) == (shortage == nil) || (decision == nil) != (again == nil) {
			t.Fatalf("decision %v, shortage %v, then %v", decision, shortage, again)
		}
		if err != nil && shortage.Kind != InvalidSelector {
			t.Fatalf("%v, and yet %v", err, shortage)
		}
		d := &pools.pools[0].devices[0]
		if d.malformed && decision != nil {
			t.Fatal("a malformed device was matched")
		}
		budget := uint64(resourceapi.CELSelectorExpressionMaxCost)
		if err == nil && decision == nil && !d.malformed && m.program(expression).matches(d, &budget) {
			t.Fatal("a device that matches was not chosen")
		}
	})
}

// FuzzReplicaName checks that a name is as long as it may be, and a label where the deployment's name is one.
func FuzzReplicaName(f *testing.F) {
	f.Add("chat", "east", int32(0))
	f.Add(strings.Repeat("a-", 126), strings.Repeat("x", 253), int32(-1))
	f.Add("", "", int32(1<<31-1))
	f.Fuzz(func(t *testing.T, deployment, cluster string, index int32) {
		name := ReplicaName(deployment, cluster, index)
		if utf8.RuneCountInString(name) > namePrefixLength+1+nameHashLength {
			t.Fatalf("%q is too long", name)
		}
		if len(validation.IsDNS1123Label(deployment)) == 0 && len(validation.IsDNS1123Label(name)) > 0 {
			t.Fatalf("%q is no label and %q is", name, deployment)
		}
	})
}

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

	"github.com/stretchr/testify/assert"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// retainInput is a replica that follows its template, on a cluster that it may be on.
func retainInput(d *modelplane.ModelDeployment, options ...clusterOption) RetainInput {
	east := cluster("east", options...)
	replica := running(d, "east", 0, "h")
	return RetainInput{
		Engines:     RequirementsOf(d.Spec.Template.Spec.Engines),
		Stamped:     replica.Spec.Engines,
		ClusterName: "east",
		Cluster:     &east,
		Pools:       PreparePools(east.Status.GPUPools),
	}
}

func withEngines(in RetainInput, engines ...modelplane.Engine) RetainInput {
	in.Engines = RequirementsOf(engines)
	return in
}

func withoutStamp(in RetainInput) RetainInput {
	in.Assigned, in.Stamped = AssignmentOf(in.Stamped), nil
	return in
}

func TestRetainCauses(t *testing.T) {
	const (
		cluster, taints, selector = evenkeel.CauseClusterDeleted, evenkeel.CauseTaint, evenkeel.CauseSelector
		template, pool            = evenkeel.CauseTemplate, evenkeel.CausePool
	)
	d := chat(1)
	fine := retainInput(d, poolOf("h", 1))
	gone := fine
	gone.Cluster, gone.Pools = nil, nil
	drained := retainInput(d, poolOf("h", 1), tainted(maintenance, retirement))
	unselected := fine
	unselected.Selector = &modelplane.LabelSelector{MatchLabels: map[string]string{"tier": "prod", "a": "b"}}
	relabelled := retainInput(d, poolOf("h", 1), labelled("tier", "dev"))
	relabelled.Selector = &modelplane.LabelSelector{MatchLabels: map[string]string{"tier": "prod"}}
	tolerated := drained
	tolerated.Tolerations = []modelplane.Toleration{exists("acme.test/retire")}
	gang := retainInput(deployment("chat", 1, span(3)), poolOf("h", 1))
	// A replica that has claimed gpu only, since a synthetic device met its other request.
	onFabric := retainInput(deployment("chat", 1, single("main", askGPU(80), ask("fabric", 1, fabricIs("ib")))), poolOf("h", 1, gpuDevice(96), nic("eth")))
	onFabric.Stamped[0].Members[0].DeviceRequests = onFabric.Stamped[0].Members[0].DeviceRequests[:1]
	everything := drained
	everything.Selector, everything.Engines = unselected.Selector, nil
	selectorAndTemplate := unselected
	selectorAndTemplate.Engines = RequirementsOf([]modelplane.Engine{single("renamed", askGPU(80))})
	selectorAndPool := retainInput(d)
	selectorAndPool.Selector = unselected.Selector
	selectorAndRequest := withEngines(unselected, single("main", askGPU(200)))
	// The leader's request is met, and the worker's neither as it is stamped nor as it is in the template.
	halfLost := deployment("chat", 1, engineOf("main", leader(askGPU(80)), workers(1, askGPU(150))))
	shrunk := retainInput(d, poolOf("h", 1, gpuDevice(40)))

	for _, c := range []struct {
		name, reason, message string
		in                    RetainInput
	}{
		{"fine", "", "", fine},
		{"without a stamp", "", "", withoutStamp(fine)},
		{"full, not ready, not routable, NoSchedule", "", "", retainInput(d, poolOf("h", 0), notReady, tainted(maintenance))},
		{"tolerated", "", "", tolerated},
		{"more copies", "", "", withEngines(fine, copies(3, single("main", askGPU(80))))},
		{"another request that the pool meets", "", "", withEngines(fine, single("main", askGPU(90)))},

		{"cluster gone", cluster, `the InferenceCluster "east" does not exist`, gone},
		{"tainted", taints, `the InferenceCluster "east" has taints that the deployment does not tolerate: acme.test/retire:NoExecute`, drained},
		{"selector", selector, `the InferenceCluster "east" has no label "a", and "b" is selected`, unselected},
		{"label changed", selector, `the InferenceCluster "east" has the label tier="dev", and "prod" is selected`, relabelled},

		{"more engines", template, `the template has 2 engines and the replica 1`, withEngines(fine, single("main", askGPU(80)), single("b", askGPU(80)))},
		{"engine renamed", template, `the replica does not have the template's engine "e2"`, withEngines(fine, single("e2", askGPU(80)))},
		{"other members", template, `engine "main" has 2 members in the template and 1 in the replica`, withEngines(fine, span(2))},
		{
			"roles swapped", template, `member 0 of engine "main" is a Worker in the template and a Leader in the replica`,
			withEngines(gang, engineOf("main", workers(2, askGPU(80)), leader(askGPU(80)))),
		},
		{
			"roles swapped, no stamp to tell", "", "",
			withoutStamp(withEngines(gang, engineOf("main", workers(2, askGPU(80)), leader(askGPU(80))))),
		},
		{
			"template asks for more", template, `node pool "h" of InferenceCluster "east" has no device left for request "gpu" of engine "main"`,
			withEngines(fine, single("main", askGPU(200))),
		},
		{"template asks for more of them", template, "", withEngines(fine, single("main", ask("gpu", 2, atLeast(80))))},
		{"template asks for more, no stamp to tell", pool, "", withoutStamp(withEngines(fine, single("main", askGPU(200))))},
		{
			"template asks for what is not claimed", template, `engine "main" would claim no device on its node pools of InferenceCluster "east"`,
			withEngines(retainInput(d, poolOf("h", 1, gpuDevice(96), nic("ib"))), single("main", ask("fabric", 1, fabricIs("ib")))),
		},

		{"pool gone", pool, `the InferenceCluster "east" does not publish node pool "h", where engine "main" is`, retainInput(d, poolOf("other", 1))},
		{"no pools at all", pool, "", retainInput(d)},
		{"no pool named", pool, "", func() RetainInput {
			in := withoutStamp(retainInput(d, poolOf("h", 1)))
			in.Assigned[0].Members[0].NodePoolName = ""
			return in
		}()},
		{"pool has smaller devices", pool, `node pool "h" of InferenceCluster "east" has no device left for request "gpu" of engine "main"`, shrunk},
		{"pool has fewer devices", pool, "", retainInput(d, poolOf("h", 1, deviceOf("gpu", 96, 0)))},
		{"pool and template changed", pool, "", withEngines(shrunk, single("main", askGPU(90)))},
		{
			"devices are not claimed any more", pool, `engine "main" would claim no device on its node pools of InferenceCluster "east"`,
			retainInput(d, poolOf("h", 1, synthetic(gpuDevice(96)))),
		},
		{"devices are not claimed any more, and the template changed", pool, "", withEngines(retainInput(d, poolOf("h", 1, synthetic(gpuDevice(96)))), single("main", askGPU(90)))},
		{
			"pool lost for one member, and its template changed", pool, "",
			withEngines(retainInput(halfLost, poolOf("h", 1)), engineOf("main", leader(askGPU(80)), workers(1, askGPU(160)))),
		},
		{"T18: a synthetic device changed", pool, `node pool "h" of InferenceCluster "east" has no device left for request "fabric" of engine "main"`, onFabric},

		{"a taint before all that is not at once", taints, "", everything},
		{"the template before the selector", template, "", selectorAndTemplate},
		{"the template's requests before the selector", template, "", selectorAndRequest},
		{"the selector before the pool", selector, "", selectorAndPool},
		{"a selector that does not compile", "", "", withEngines(fine, single("renamed", ask("gpu", 1, "(")))},
		{"a taint, and a selector that does not compile", taints, "", withEngines(drained, single("main", ask("gpu", 1, "(")))},
		{"not selected, and a selector that does not compile", selector, "", withEngines(unselected, single("main", ask("gpu", 1, "(")))},
	} {
		t.Run(c.name, func(t *testing.T) {
			cause := NewMatcher().Retain(c.in)
			if c.reason == "" {
				assert.Nil(t, cause)
				return
			}
			if !assert.NotNil(t, cause) {
				return
			}
			assert.Equal(t, c.reason, cause.Reason)
			if c.message != "" {
				assert.Equal(t, c.message, cause.Message)
			}
			assert.Equal(t, c.reason == cluster || c.reason == taints || c.reason == selector, cause.AboutCluster, "AboutCluster")
			assert.Equal(t, c.reason == cluster || c.reason == selector || c.reason == pool, cause.NeedsSettling, "NeedsSettling")
		})
	}
}

// Of two engines, one of which lost its pool and the other its template, the template counts in any order.
func TestRetainTemplateBeforePool(t *testing.T) {
	d := deployment("chat", 1, single("a", askGPU(80)), single("b", askGPU(80)))
	in := retainInput(d, poolOf("h", 1))
	for _, lost := range []int{0, 1} {
		replica := running(d, "east", 0, "h", "h")
		replica.Spec.Engines[lost].Members[0].NodePoolName = "gone"
		in.Stamped = replica.Spec.Engines
		names := []string{"a", "b"}
		cause := NewMatcher().Retain(withEngines(in, single(names[lost], askGPU(80)), single(names[1-lost], askGPU(200))))
		assert.Equal(t, evenkeel.CauseTemplate, cause.Reason)
	}
}

func TestRetainMessagesAreBounded(t *testing.T) {
	long := strings.Repeat("k", 5000)
	d := chat(1)
	many := []modelplane.Taint{}
	for _, key := range []string{"d", "a", "c", "b", "e"} {
		many = append(many, taint(key, "", modelplane.TaintEffectNoExecute))
	}
	assert.Equal(t, `the InferenceCluster "east" has taints that the deployment does not tolerate: a:NoExecute, b:NoExecute, c:NoExecute and 2 more`,
		NewMatcher().Retain(retainInput(d, poolOf("h", 1), tainted(many...))).Message)

	tall := retainInput(d, poolOf("h", 1), tainted(taint(long, long, modelplane.TaintEffectNoExecute)))
	assert.LessOrEqual(t, len(NewMatcher().Retain(tall).Message), maxShownError)
	for _, change := range []func(*RetainInput){
		func(in *RetainInput) { in.ClusterName, in.Cluster = long, nil },
		func(in *RetainInput) { in.Stamped[0].Members[0].NodePoolName = long },
		func(in *RetainInput) { in.Engines[0].Name = long },
	} {
		in := retainInput(d, poolOf("h", 1))
		change(&in)
		assert.LessOrEqual(t, len(NewMatcher().Retain(in).Message), maxShownError)
	}
	wide := retainInput(d, poolOf("h", 1))
	wide.Selector = &modelplane.LabelSelector{MatchLabels: map[string]string{long: long}}
	assert.LessOrEqual(t, len(NewMatcher().Retain(wide).Message), maxShownError)
}

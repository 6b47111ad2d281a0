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

package servingpath

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestRebalance(t *testing.T) {
	c := shipped(t, "")
	a, b := node("a"), node("b")
	for name, tc := range map[string]struct {
		pods   []*corev1.Pod
		nodes  []*corev1.Node
		others []*corev1.Pod // on node b
		want   string
		to     string
	}{
		"both on one node":             {pods: []*corev1.Pod{readyPod(1, "a"), readyPod(2, "a")}, nodes: []*corev1.Node{a, b}, want: "pod-1", to: "b"},
		"three on one node":            {pods: []*corev1.Pod{readyPod(2, "a"), readyPod(1, "a"), readyPod(3, "a")}, nodes: []*corev1.Node{a, b}, want: "pod-1", to: "b"},
		"apart":                        {pods: []*corev1.Pod{readyPod(1, "a"), readyPod(2, "b")}, nodes: []*corev1.Node{a, b}},
		"the only one":                 {pods: []*corev1.Pod{readyPod(1, "a")}, nodes: []*corev1.Node{a, b}},
		"none":                         {nodes: []*corev1.Node{a, b}},
		"one not Ready":                {pods: []*corev1.Pod{readyPod(1, "a"), readyPod(2, "a", unready)}, nodes: []*corev1.Node{a, b}},
		"one going":                    {pods: []*corev1.Pod{readyPod(1, "a"), readyPod(2, "a", terminating)}, nodes: []*corev1.Node{a, b}},
		"no other node":                {pods: []*corev1.Pod{readyPod(1, "a"), readyPod(2, "a")}, nodes: []*corev1.Node{a}},
		"the other is cordoned":        {pods: []*corev1.Pod{readyPod(1, "a"), readyPod(2, "a")}, nodes: []*corev1.Node{a, node("b", cordoned)}},
		"the other is not Ready":       {pods: []*corev1.Pod{readyPod(1, "a"), readyPod(2, "a")}, nodes: []*corev1.Node{a, node("b", notReady)}},
		"the other is tainted":         {pods: []*corev1.Pod{readyPod(1, "a"), readyPod(2, "a")}, nodes: []*corev1.Node{a, node("b", gpu)}},
		"the other is a fallback":      {pods: []*corev1.Pod{readyPod(1, "a", tolerant), readyPod(2, "a", tolerant)}, nodes: []*corev1.Node{a, node("b", gpu)}},
		"the other is full":            {pods: []*corev1.Pod{readyPod(1, "a", requesting("600m")), readyPod(2, "a")}, nodes: []*corev1.Node{a, b}, others: []*corev1.Pod{readyPod(9, "b", requesting("500m"))}},
		"the other has just room":      {pods: []*corev1.Pod{readyPod(1, "a", requesting("500m")), readyPod(2, "a")}, nodes: []*corev1.Node{a, b}, others: []*corev1.Pod{readyPod(9, "b", requesting("500m"))}, want: "pod-1", to: "b"},
		"not where it must go":         {pods: []*corev1.Pod{readyPod(1, "a", selecting("a")), readyPod(2, "a", selecting("a"))}, nodes: []*corev1.Node{a, b}},
		"one fell back":                {pods: []*corev1.Pod{readyPod(2, "a", tolerant), readyPod(1, "g", tolerant)}, nodes: []*corev1.Node{a, b, node("g", gpu)}, want: "pod-1", to: "b"},
		"one fell back, and must stay": {pods: []*corev1.Pod{readyPod(1, "a", tolerant), readyPod(2, "g", tolerant)}, nodes: []*corev1.Node{a, node("g", gpu)}},
		"both fell back":               {pods: []*corev1.Pod{readyPod(1, "g", tolerant), readyPod(2, "h", tolerant)}, nodes: []*corev1.Node{a, b, node("g", gpu), node("h", gpu)}, want: "pod-1", to: "a"},
		"the first by name":            {pods: []*corev1.Pod{readyPod(1, "a"), readyPod(2, "a")}, nodes: []*corev1.Node{a, node("d"), node("c")}, want: "pod-1", to: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			running := map[string][]*corev1.Pod{"b": tc.others}
			move := c.Rebalance(tc.pods, tc.nodes, running)
			if tc.want == "" {
				assert.Nil(t, move)
				return
			}
			require.NotNil(t, move)
			assert.Equal(t, tc.want, move.Pod.Name)
			assert.Equal(t, tc.to, move.To)
			assert.Contains(t, move.Reason, tc.to)
		})
	}
}

func selecting(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: name} }
}

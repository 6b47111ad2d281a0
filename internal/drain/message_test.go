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

package drain

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func kind(reason string, count int, detail string) Kind {
	return Kind{Reason: reason, Count: count, Example: types.NamespacedName{Namespace: "ml", Name: "chat-1"}, Detail: detail}
}

func TestMessage(t *testing.T) {
	for want, report := range map[string]Report{
		"no replica that must leave is left": {},
		"no replica that must leave is left; 1 replica stays, as its deployment tolerates the taints":   {Staying: 1},
		"no replica that must leave is left; 2 replicas stay, as their deployments tolerate the taints": {Staying: 2},
		"1 replica must still leave: 1 on the move (ml/chat-1, which waits for its pods to end)":        {Left: 1, Kinds: []Kind{kind(evenkeel.LeavingMoving, 1, "its pods to end")}},
		"2 replicas must still leave: 2 whose move is paused (such as ml/chat-1)":                       {Left: 2, Kinds: []Kind{kind(evenkeel.LeavingPaused, 2, "")}},
		"5 replicas must still leave: 1 with nowhere to go (ml/chat-1), 1 whose move is paused (ml/chat-1), " +
			"1 tolerating the taint for a time (ml/chat-1), 2 more; 1 replica stays, as its deployment tolerates the taints": {
			Left: 5, Staying: 1,
			Kinds: []Kind{
				kind(evenkeel.LeavingUnplaceable, 1, ""), kind(evenkeel.LeavingPaused, 1, ""), kind(evenkeel.LeavingTolerating, 1, ""), kind(evenkeel.LeavingMoving, 2, ""),
			},
		},
	} {
		assert.Equal(t, want, report.Message())
	}
}

func TestMessageIsBounded(t *testing.T) {
	r := Report{}
	for _, reason := range Reasons() {
		k := kind(reason, 1_000_000, strings.Repeat("ö", 10_000))
		k.Example.Name = strings.Repeat("n", 253)
		r.Kinds = append(r.Kinds, k)
		r.Left += k.Count
	}
	assert.Less(t, len(r.Message()), 2500)
	assert.Contains(t, r.Message(), "ö...")
}

func TestEveryReasonHasWords(t *testing.T) {
	for _, reason := range Reasons() {
		assert.NotEmpty(t, words[reason], reason)
	}
	assert.Len(t, words, len(Reasons()))
}

func TestCondition(t *testing.T) {
	c := cluster(modelplane.TaintEffectNoExecute)
	drained := Report{Staying: 1}.Condition(c)
	assert.Equal(t, metav1.Condition{
		Type: "Drained", Status: metav1.ConditionTrue, Reason: "Drained", ObservedGeneration: 7,
		Message: "no replica that must leave is left; 1 replica stays, as its deployment tolerates the taints",
	}, drained)
	left := Report{Left: 1, Kinds: []Kind{kind(evenkeel.LeavingMoving, 1, "")}}.Condition(c)
	assert.Equal(t, metav1.ConditionFalse, left.Status)
	assert.Equal(t, "ReplicasLeft", left.Reason)

	c.Annotations = map[string]string{modelplane.AnnotationDeletionAttempt: ""}
	warned := Report{}.Condition(c)
	require.Contains(t, warned.Message, "no replica that must leave is left. Beware: this cluster's deletion was refused")
	assert.Contains(t, warned.Message, "kubectl annotate inferencecluster east usage.crossplane.io/deletion-attempt-with-policy-")

	c.DeletionTimestamp = ptr.To(metav1.Now())
	assert.Empty(t, DeletionWarning(c), "a cluster that is being deleted already")
}

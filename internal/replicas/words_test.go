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

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// shortNames puts east/0 for the name of chat's replica there.
var shortNames = func() *strings.Replacer {
	var names []string
	for _, cluster := range []string{"east", "west", "north"} {
		for i := range int32(4) {
			names = append(names, placement.ReplicaName("chat", cluster, i), fmt.Sprintf("%s/%d", cluster, i))
		}
	}
	return strings.NewReplacer(append(names, "chat-", "")...)
}()

// told gives the actions in words.
func told(actions []Action) []string {
	out := []string{}
	for _, a := range actions {
		out = append(out, shortNames.Replace(inWords(a)))
	}
	return out
}

func inWords(action Action) string {
	mark, ok := action.(SetPlacementStatus)
	if !ok {
		return action.String()
	}
	var says []string
	for _, c := range mark.Conditions {
		switch {
		case c.Type == evenkeel.ConditionReady && c.Status == metav1.ConditionTrue:
			says = append(says, "ready")
		case c.Type == evenkeel.ConditionReady:
			says = append(says, "not ready")
		case c.Type == evenkeel.ConditionDisruptionTarget && c.Status == metav1.ConditionTrue:
			says = append(says, "leaving "+c.Reason)
		case c.Type == evenkeel.ConditionDisruptionTarget && c.Reason == evenkeel.CauseTolerating:
			says = append(says, c.Message)
		case c.Type == evenkeel.ConditionDisruptionTarget:
			says = append(says, "settling "+c.Reason)
		case c.Type == evenkeel.ConditionServing && c.Status == metav1.ConditionTrue:
			says = append(says, "served")
		case c.Type == evenkeel.ConditionServing:
			says = append(says, "not served")
		case c.Type == evenkeel.ConditionTrafficWithdrawn && c.Status == metav1.ConditionTrue:
			says = append(says, "withdrawn")
		case c.Type == evenkeel.ConditionTrafficWithdrawn:
			says = append(says, "withdrawing")
		case strings.HasPrefix(c.Type, evenkeel.ConditionTaintSeenPrefix):
			says = append(says, "seen "+c.Message)
		case c.Type == evenkeel.ConditionMoved:
			says = append(says, c.Message)
		default:
			says = append(says, "rejected "+c.Reason)
		}
	}
	if mark.Move != nil {
		says = append(says, mark.Move.Step)
	}
	return "mark " + mark.Placement.Name + ": " + strings.Join(says, ", ")
}

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
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/text"
)

const (
	// shownKinds is how many kinds a message tells of; the replicas of the others are counted.
	shownKinds = 3
	// shownDetail is how many bytes of what an example waits for are told.
	shownDetail = 200
)

// words for the kinds, after their number.
var words = map[string]string{
	evenkeel.LeavingUnplaceable: "with nowhere to go",
	evenkeel.LeavingNotServing:  "whose replacement fails to serve",
	evenkeel.LeavingPaused:      "whose move is paused",
	evenkeel.LeavingUnmanaged:   "that Evenkeel does not move",
	evenkeel.LeavingBudget:      "waiting for other moves to end",
	evenkeel.LeavingTolerating:  "tolerating the taint for a time",
	evenkeel.LeavingMoving:      "on the move",
}

// Message is the report in a sentence of bounded length.
func (r Report) Message() string {
	var b strings.Builder
	if r.Left == 0 {
		b.WriteString("no replica that must leave is left")
	} else {
		fmt.Fprintf(&b, "%s must still leave: %s", replicas(r.Left), r.kinds())
	}
	switch r.Staying {
	case 0:
	case 1:
		b.WriteString("; 1 replica stays, as its deployment tolerates the taints")
	default:
		fmt.Fprintf(&b, "; %d replicas stay, as their deployments tolerate the taints", r.Staying)
	}
	return b.String()
}

func (r Report) kinds() string {
	told := make([]string, 0, shownKinds+1)
	untold := r.Left
	for _, k := range r.Kinds[:min(shownKinds, len(r.Kinds))] {
		told = append(told, k.String())
		untold -= k.Count
	}
	if untold > 0 {
		told = append(told, fmt.Sprintf("%d more", untold))
	}
	return strings.Join(told, ", ")
}

// String tells of a kind and its example.
func (k Kind) String() string {
	example := k.Example.String()
	if k.Count > 1 {
		example = "such as " + example
	}
	if k.Detail != "" {
		example += ", which waits for " + shortened(k.Detail)
	}
	return fmt.Sprintf("%d %s (%s)", k.Count, words[k.Reason], example)
}

func shortened(detail string) string {
	if len(detail) <= shownDetail {
		return detail
	}
	return text.Prefix(detail, shownDetail) + "..."
}

func replicas(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

// Condition is what the condition Drained of a cluster should say. Its time is not set.
func (r Report) Condition(cluster *modelplane.InferenceCluster) metav1.Condition {
	c := metav1.Condition{
		Type:               evenkeel.ConditionDrained,
		Status:             metav1.ConditionFalse,
		Reason:             evenkeel.ReasonReplicasLeft,
		Message:            r.Message(),
		ObservedGeneration: cluster.Generation,
	}
	if r.Left == 0 {
		c.Status, c.Reason = metav1.ConditionTrue, evenkeel.ReasonDrained
	}
	if warning := DeletionWarning(cluster); warning != "" {
		c.Message += ". " + warning
	}
	return c
}

// DeletionWarning tells that the end of a drain is the end of the cluster, if it is: Crossplane keeps a deletion that it
// refused because replicas were on the cluster, and carries it out once the last has left. Empty otherwise.
func DeletionWarning(cluster *modelplane.InferenceCluster) string {
	if _, recorded := cluster.Annotations[modelplane.AnnotationDeletionAttempt]; !recorded || cluster.DeletionTimestamp != nil {
		return ""
	}
	return fmt.Sprintf("Beware: this cluster's deletion was refused while replicas were on it, and Crossplane repeats it as soon as the last one has left. "+
		"To keep the cluster: kubectl annotate inferencecluster %s %s-", cluster.Name, modelplane.AnnotationDeletionAttempt)
}

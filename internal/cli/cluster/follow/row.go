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

package follow

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Steps that a replica can be at beside those of a move (the constants Step... of the API).
const (
	// StepStays is a replica whose deployment tolerates the taint.
	StepStays = "Stays"
	// StepTolerating is one that leaves when the time is over for which its deployment tolerates the taint.
	StepTolerating = "Tolerating"
	// StepNowhere is one that has left and whose replacement has no cluster.
	StepNowhere = "Nowhere"
	// StepGone is one that has left and is not replaced: fewer are wanted, or the deployment is gone.
	StepGone = "Gone"
)

// Row is how one replica stands.
type Row struct {
	// Replica is the namespace and name of the ModelReplica that is, or was, on the cluster.
	Replica    types.NamespacedName
	Deployment string
	// Placement is the name of the one that stands for it; empty if there is none.
	Placement string
	From      string
	// To is empty as long as it is not known.
	To string
	// Step is one of a move's, or one of those above.
	Step string
	// Reason is one of the constants Leaving... while the replica must still leave, else empty.
	Reason string
	// WaitingFor says what the step waits for, in words that follow "waits for".
	WaitingFor string
	// Began is when the replica was told to leave; Ended when its replacement served, or when it was over.
	Began, Ended time.Time
}

// Left tells whether the replica must still leave the cluster.
func (r *Row) Left() bool { return r.Reason != "" }

// Took is how long the replica has been leaving, or took to.
func (r *Row) Took(now time.Time) time.Duration {
	if r.Began.IsZero() {
		return 0
	}
	if !r.Ended.IsZero() {
		now = r.Ended
	}
	return max(now.Sub(r.Began), 0).Round(time.Second)
}

// String tells of the row on one line.
func (r *Row) String() string {
	line := fmt.Sprintf("%s %s", r.Replica, r.Step)
	if r.To != "" {
		line += " -> " + r.To
	}
	if r.WaitingFor != "" {
		line += ", waits for " + r.WaitingFor
	}
	return line
}

// same tells whether two rows would be told in the same words.
func (r *Row) same(other *Row) bool { return r.String() == other.String() }

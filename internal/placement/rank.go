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
	"cmp"
	"fmt"
	"strconv"
)

// Candidate is a cluster that a replica can go to.
type Candidate struct {
	// Cluster is its name.
	Cluster string
	// Load is how many replicas of this deployment are there or on their way, without surges and those that leave.
	Load int
	// Cached tells that the deployment's weights are already there.
	Cached bool
}

// Comparator is one reason to prefer a candidate.
type Comparator struct {
	// Name of the reason, for people.
	Name string
	// Compare is negative where a is better, positive where b is, and zero where this reason does not decide.
	Compare func(a, b Candidate) int
	// Show writes what is compared.
	Show func(Candidate) string
}

// DefaultComparators are Modelplane's order, fewest replicas and then the name, with cached weights between the two:
// Modelplane does not know of those.
func DefaultComparators() []Comparator {
	return []Comparator{
		{
			Name:    "fewest replicas of the deployment",
			Compare: func(a, b Candidate) int { return cmp.Compare(a.Load, b.Load) },
			Show:    func(c Candidate) string { return strconv.Itoa(c.Load) },
		},
		{
			Name:    "weights cached",
			Compare: func(a, b Candidate) int { return cmp.Compare(boolRank(a.Cached), boolRank(b.Cached)) },
			Show:    func(c Candidate) string { return strconv.FormatBool(c.Cached) },
		},
		{
			Name:    "name",
			Compare: func(a, b Candidate) int { return cmp.Compare(a.Cluster, b.Cluster) },
			Show:    func(c Candidate) string { return c.Cluster },
		},
	}
}

func boolRank(better bool) int {
	if better {
		return 0
	}
	return 1
}

// Best gives the candidate that no other beats, asking the comparators in order. Between candidates that they do not
// tell apart the earlier name wins, so that the order of the list never matters. It is not ok without candidates.
func Best(candidates []Candidate, comparators []Comparator) (best Candidate, ok bool) {
	for i, candidate := range candidates {
		if i == 0 || compareCandidates(candidate, best, comparators) < 0 {
			best = candidate
		}
	}
	return best, len(candidates) > 0
}

// Better tells whether a beats b, in the order that Best goes by.
func Better(a, b Candidate, comparators []Comparator) bool {
	return compareCandidates(a, b, comparators) < 0
}

func compareCandidates(a, b Candidate, comparators []Comparator) int {
	for i := range comparators {
		if order := comparators[i].Compare(a, b); order != 0 {
			return order
		}
	}
	return cmp.Compare(a.Cluster, b.Cluster)
}

// Explain says in one phrase why one of two candidates is preferred.
func Explain(a, b Candidate, comparators []Comparator) string {
	for i := range comparators {
		comparator := &comparators[i]
		order := comparator.Compare(a, b)
		if order == 0 {
			continue
		}
		if order > 0 {
			a, b = b, a
		}
		if comparator.Show == nil {
			return fmt.Sprintf("%s before %s: %s", a.Cluster, b.Cluster, comparator.Name)
		}
		return fmt.Sprintf("%s before %s: %s (%s, not %s)", a.Cluster, b.Cluster, comparator.Name, comparator.Show(a), comparator.Show(b))
	}
	if a.Cluster > b.Cluster {
		a, b = b, a
	}
	return fmt.Sprintf("%s before %s: name", a.Cluster, b.Cluster)
}

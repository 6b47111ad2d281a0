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

package trafficdrain

import "fmt"

// Kind is what an edit of the annotation amounts to.
type Kind string

const (
	// EditNone leaves the annotation as it is, byte for byte.
	EditNone Kind = "None"
	// EditRemove takes the annotation away and so ends every drain.
	EditRemove Kind = "Remove"
	// EditSubset only takes drains away, or lays out the same drains differently.
	EditSubset Kind = "Subset"
	// EditChange adds drains or changes reasons.
	EditChange Kind = "Change"
)

// Review is the judgement of an edit as far as the old and the new value decide it.
type Review struct {
	Kind Kind
	// Old and New are the drains before and after.
	Old, New Drains
	// Diff is the difference between them. With OldFault set, its Removed is unknown.
	Diff Diff
	// OldFault says why the old value does not parse, if it does not.
	OldFault error
}

// ReviewEdit judges an edit of the annotation, before anything is asked about clusters
// and weights. Leaving it alone, removing it, and keeping a subset of drains that parsed
// are always accepted, so that a bad or oversized value can be repaired in any number of
// steps. Every other new value must pass ParseStrict and must not move an existing ID to
// another cluster. For the creation of an object, old is the zero Value. The error is a
// *Refusal; the Review is valid beside it as far as it goes.
func ReviewEdit(old, new Value) (Review, error) {
	var review Review
	review.Old, review.OldFault = old.Parse()
	if old == new {
		review.Kind = EditNone
		review.New = review.Old
		return review, nil
	}
	if !new.Present {
		review.Kind = EditRemove
		review.Diff = Compare(review.Old, nil)
		return review, nil
	}

	lenient, err := new.Parse()
	if err == nil && old.Present && review.OldFault == nil && len(new.Raw) <= max(len(old.Raw), MaxBytes) {
		if diff := Compare(review.Old, lenient); diff.Subset() {
			review.Kind, review.New, review.Diff = EditSubset, lenient, diff
			return review, nil
		}
	}

	review.Kind = EditChange
	strict, err := new.ParseStrict()
	if err != nil {
		return review, err
	}
	review.New, review.Diff = strict, Compare(review.Old, strict)
	if len(review.Diff.Retargeted) > 0 {
		return review, retargeted(review.Diff.Retargeted[0])
	}
	return review, nil
}

func retargeted(p Pair) *Refusal {
	id := Printable(p.New.ID)
	text := fmt.Sprintf("drain %q cannot move to another cluster", id)
	return refuse(RuleRetargeted, p.New.ID, text,
		fmt.Sprintf("it holds cluster %q and the edit makes it hold %q instead, which would give %q its traffic back",
			Printable(p.Old.Cluster), Printable(p.New.Cluster), Printable(p.Old.Cluster)),
		fmt.Sprintf("Add a drain with an ID of its own for cluster %q, then remove drain %q when cluster %q may serve again",
			Printable(p.New.Cluster), id, Printable(p.Old.Cluster)))
}

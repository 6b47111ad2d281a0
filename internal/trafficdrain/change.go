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

import (
	"errors"
	"fmt"
	"slices"
)

// What OME's traffic commands say about the drains that a service already has.
const (
	MessageUnsafe = "traffic action refused: existing traffic-drain annotation is malformed or unsafe"

	textIDExists  = "traffic drain refused: override ID already exists"
	textIDMissing = "traffic undrain refused: override ID does not exist"
)

// Change is a drain added to a service or taken from it.
type Change struct {
	// Drain is the one that comes or goes.
	Drain Drain
	// Before and After are all drains of the service.
	Before, After Drains
	// Value is the annotation to store afterwards.
	Value Value
}

// Add plans `traffic drain`: it adds one drain and leaves all others as they are. The
// stored value must pass ParseStrict first. An ID that exists is refused even when the
// drain is the same. The error is a *Refusal with the words of OME's command; behind
// MessageUnsafe and MessageBounds, Unwrap has the fault of the stored value.
func Add(current Value, drain Drain) (Change, error) {
	if err := drain.Validate(); err != nil {
		return Change{}, err
	}
	before, err := stored(current)
	if err != nil {
		return Change{}, err
	}
	i, exists := before.find(drain.ID)
	if exists {
		return Change{}, refuse(RuleIDExists, drain.ID, textIDExists,
			fmt.Sprintf("drain %q holds cluster %q", drain.ID, before[i].Cluster),
			"Choose another ID, or end that drain first")
	}
	return newChange(drain, before, slices.Insert(slices.Clone(before), i, drain))
}

// Remove plans `traffic undrain`: it takes one drain away and leaves all others as they
// are. Errors are those of Add.
func Remove(current Value, id string) (Change, error) {
	if err := ValidateID(id); err != nil {
		return Change{}, err
	}
	before, err := stored(current)
	if err != nil {
		return Change{}, err
	}
	i, exists := before.find(id)
	if !exists {
		return Change{}, refuse(RuleIDMissing, id, textIDMissing,
			fmt.Sprintf("none of the service's %d drains is named %q", len(before), id),
			"List the service's drains and use one of their IDs")
	}
	return newChange(before[i], before, slices.Delete(slices.Clone(before), i, i+1))
}

func newChange(drain Drain, before, after Drains) (Change, error) {
	if refusal := checkCount(len(after)); refusal != nil {
		return Change{}, refusal
	}
	value := after.Value()
	if refusal := checkSize(len(value.Raw)); refusal != nil {
		return Change{}, refusal
	}
	return Change{Drain: drain, Before: before, After: after, Value: value}, nil
}

// stored reads the value that a change starts from.
func stored(current Value) (Drains, error) {
	drains, err := current.ParseStrict()
	if err == nil {
		return drains, nil
	}
	var fault *Refusal
	if !errors.As(err, &fault) || fault.Bounds() {
		return nil, err
	}
	return nil, &Refusal{
		Rule:   fault.Rule,
		ID:     fault.ID,
		text:   MessageUnsafe,
		safe:   MessageUnsafe,
		detail: fault.fault(),
		cure:   fault.cure,
		cause:  fault,
	}
}

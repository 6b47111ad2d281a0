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

// Limits within which OME's traffic commands work on a service.
const (
	// MaxBytes bounds the annotation's value.
	MaxBytes = 32 * 1024
	// MaxDrains bounds the drains of a service.
	MaxDrains = 64

	// MaxAnnotations, MaxLabels and MaxFinalizers bound an object's metadata in number,
	// MaxMetadataBytes all keys, values and finalizers together.
	MaxAnnotations   = 256
	MaxLabels        = 256
	MaxFinalizers    = 64
	MaxMetadataBytes = 64 * 1024

	maxObjectBytes      = 1 << 20
	maxObjectNodes      = 32768
	maxObjectDepth      = 32
	maxObjectConditions = 64
	maxObjectComponents = 3
)

// MessageBounds is what OME's traffic commands say when a service or its annotation is
// too large for them.
const MessageBounds = "traffic action refused: traffic-drain state exceeds safety bounds"

func checkSize(bytes int) *Refusal {
	if bytes <= MaxBytes {
		return nil
	}
	return refuse(RuleSize, "", MessageBounds,
		fmt.Sprintf("the value has %d bytes, at most %d are allowed", bytes, MaxBytes),
		"Shorten reasons or remove drains; taking drains away from the value is always allowed")
}

func checkCount(drains int) *Refusal {
	if drains <= MaxDrains {
		return nil
	}
	return refuse(RuleCount, "", MessageBounds,
		fmt.Sprintf("the service has %d drains, at most %d are allowed", drains, MaxDrains),
		"Edit the annotation by hand to remove drains; taking drains away from the value is always allowed")
}

// CheckMetadata tells whether an object's metadata is small enough for OME's traffic
// commands. They ask it of the object as it is and again as it would be after the
// change. The error is a *Refusal with Bounds.
func CheckMetadata(annotations, labels map[string]string, finalizers []string) error {
	if err := CheckMetadataCounts(annotations, labels, finalizers); err != nil {
		return err
	}
	return CheckMetadataBytes(annotations, labels, finalizers)
}

// CheckMetadataCounts is the part of CheckMetadata that counts entries. The traffic
// commands ask it earlier than the other part.
func CheckMetadataCounts(annotations, labels map[string]string, finalizers []string) error {
	for _, limit := range []struct {
		what     string
		now, max int
	}{
		{"annotations", len(annotations), MaxAnnotations},
		{"labels", len(labels), MaxLabels},
		{"finalizers", len(finalizers), MaxFinalizers},
	} {
		if limit.now > limit.max {
			return tooMuchMetadata(limit.what, limit.now, limit.max)
		}
	}
	return nil
}

// CheckMetadataBytes is the part of CheckMetadata that adds up sizes.
func CheckMetadataBytes(annotations, labels map[string]string, finalizers []string) error {
	bytes := 0
	for _, m := range []map[string]string{annotations, labels} {
		for k, v := range m {
			bytes += len(k) + len(v)
		}
	}
	for _, f := range finalizers {
		bytes += len(f)
	}
	if bytes > MaxMetadataBytes {
		return tooMuchMetadata("bytes of annotations, labels and finalizers", bytes, MaxMetadataBytes)
	}
	return nil
}

func tooMuchMetadata(what string, now, limit int) error {
	return refuse(RuleMetadata, "", MessageBounds,
		fmt.Sprintf("the service has %d %s, at most %d are allowed", now, what, limit),
		"Remove what nobody needs from the service's metadata")
}

// CheckObject tells whether a decoded object is small enough for OME's traffic commands:
// at most 1 MiB in its strings (keys and values), 32768 values, 32 levels, 64 conditions
// and 3 components in its status. The error is a *Refusal with Bounds.
func CheckObject(object map[string]any) error {
	w := objectWalk{}
	w.visit(object, 1)
	status, _ := object["status"].(map[string]any)
	for _, limit := range []struct {
		what     string
		now, max int
	}{
		{"levels", w.depth, maxObjectDepth},
		{"values", w.nodes, maxObjectNodes},
		{"bytes of text", w.bytes, maxObjectBytes},
		{"conditions", length(status["conditions"]), maxObjectConditions},
		{"components in its status", length(status["components"]), maxObjectComponents},
	} {
		if limit.now > limit.max {
			return refuse(RuleObject, "", MessageBounds,
				fmt.Sprintf("the service has %d %s, at most %d are allowed", limit.now, limit.what, limit.max),
				"Find out what writes so much into the service")
		}
	}
	return nil
}

type objectWalk struct {
	nodes, bytes, depth int
}

// visit stops below the deepest level that counts, so that depth cannot exhaust the stack.
func (w *objectWalk) visit(value any, depth int) {
	w.nodes++
	w.depth = max(w.depth, depth)
	if depth > maxObjectDepth {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			w.bytes += len(key)
			w.visit(child, depth+1)
		}
	case []any:
		for _, child := range v {
			w.visit(child, depth+1)
		}
	case string:
		w.bytes += len(v)
	}
}

func length(value any) int {
	switch v := value.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	default:
		return 0
	}
}

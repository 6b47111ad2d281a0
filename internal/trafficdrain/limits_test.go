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
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func many(n, size int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[strconv.Itoa(1000+i)] = strings.Repeat("v", size)
	}
	return m
}

func TestCheckMetadata(t *testing.T) {
	for _, tc := range []struct {
		name                string
		annotations, labels map[string]string
		finalizers          []string
		says                string
	}{
		{"nothing", nil, nil, nil, ""},
		{"at every number", many(256, 0), many(256, 0), make([]string, 64), ""},
		{"257 annotations", many(257, 0), nil, nil, "the service has 257 annotations, at most 256 are allowed"},
		{"257 labels", nil, many(257, 0), nil, "the service has 257 labels, at most 256 are allowed"},
		{"65 finalizers", nil, nil, make([]string, 65), "the service has 65 finalizers, at most 64 are allowed"},
		{"at the bytes", many(1, 65536-4-4-1-1), many(1, 1), []string{"f"}, ""},
		{"a byte of a value too many", many(1, 65536-4-4-1), many(1, 1), []string{"f"}, "the service has 65537 bytes of annotations, labels and finalizers, at most 65536 are allowed"},
		{"a byte of a finalizer too many", many(1, 65536-4), nil, []string{"f"}, "65537 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			expectBounds(t, CheckMetadata(tc.annotations, tc.labels, tc.finalizers), RuleMetadata, tc.says)
		})
	}
}

func TestCheckObject(t *testing.T) {
	nested := func(levels int) map[string]any {
		var v any = "leaf"
		for range levels - 2 {
			v = []any{v}
		}
		return map[string]any{"k": v}
	}
	list := func(n int) []any { return make([]any, n) }
	for _, tc := range []struct {
		name   string
		object map[string]any
		says   string
	}{
		{"nothing", nil, ""},
		{"32 levels", nested(32), ""},
		{"33 levels", nested(33), "the service has 33 levels, at most 32 are allowed"},
		{"very deep", nested(1 << 16), "33 levels"},
		{"32768 values", map[string]any{"k": list(32766)}, ""},
		{"32769 values", map[string]any{"k": list(32767)}, "the service has 32769 values, at most 32768 are allowed"},
		{"1 MiB of text", map[string]any{"k": strings.Repeat("v", 1<<20-1)}, ""},
		{"a byte more", map[string]any{"k": strings.Repeat("v", 1<<20)}, "the service has 1048577 bytes of text, at most 1048576 are allowed"},
		{"64 conditions", map[string]any{"status": map[string]any{"conditions": list(64)}}, ""},
		{"65 conditions", map[string]any{"status": map[string]any{"conditions": list(65)}}, "65 conditions, at most 64"},
		{"3 components", map[string]any{"status": map[string]any{"components": map[string]any{"a": 1, "b": 1, "c": 1}}}, ""},
		{"4 components", map[string]any{"status": map[string]any{"components": map[string]any{"a": 1, "b": 1, "c": 1, "d": 1}}}, "4 components in its status, at most 3"},
		{"status of another type", map[string]any{"status": "Ready"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			expectBounds(t, CheckObject(tc.object), RuleObject, tc.says)
		})
	}
}

func expectBounds(t *testing.T, err error, rule Rule, says string) {
	t.Helper()
	if says == "" {
		assert.NoError(t, err)
		return
	}
	require.EqualError(t, err, MessageBounds)
	var refusal *Refusal
	require.True(t, errors.As(err, &refusal))
	assert.True(t, refusal.Bounds())
	assert.Equal(t, rule, refusal.Rule)
	assert.Contains(t, refusal.Explain(), says)
}

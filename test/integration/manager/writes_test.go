//go:build integration

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

package manager

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/internal/standin"
)

// writesSince counts what hub-manager and hub-scheduler have written in a namespace, by verb and resource.
func (w *world) writesSince(since time.Time) map[string]int {
	w.t.Helper()
	events, err := hub.AuditEvents()
	require.NoError(w.t, err)
	counts := map[string]int{}
	for _, e := range events {
		if e.ObjectRef == nil || e.ObjectRef.Namespace != w.namespace || e.RequestReceivedTimestamp.Time.Before(since) {
			continue
		}
		if !strings.HasPrefix(e.UserAgent, "hub-") {
			continue
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		program, _, _ := strings.Cut(e.UserAgent, "/")
		counts[program+" "+e.Verb+" "+resource]++
	}
	return counts
}

func total(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

func listed(counts map[string]int) string {
	var lines []string
	for k, n := range counts {
		lines = append(lines, fmt.Sprintf("%4d %s", n, k))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestWrites counts the API writes of hub-manager and hub-scheduler together, events and all: no more than 9 for a
// replica that is placed, and 15 for one that moves.
func TestWrites(t *testing.T) {
	w := newWorld(t, standin.Options{LoadTime: time.Second})
	w.cluster("east", 4)
	began := time.Now()
	w.deploy("chat", 4)
	w.stays("chat@east/0(h)", "chat@east/1(h)", "chat@east/2(h)", "chat@east/3(h)")
	w.expectCounts("chat", 4, 4)
	placed := w.writesSince(began)
	assert.LessOrEqual(t, total(placed), 4*9, "placing 4:\n%s", listed(placed))
	began = time.Now()
	w.cluster("west", 4)
	w.setTaints("east", retire)
	w.stays("chat@west/0(h)", "chat@west/1(h)", "chat@west/2(h)", "chat@west/3(h)")
	w.expectCounts("chat", 4, 4)
	moved := w.writesSince(began)
	assert.LessOrEqual(t, total(moved), 4*15, "moving 4:\n%s", listed(moved))
}

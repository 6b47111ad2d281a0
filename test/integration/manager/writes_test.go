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
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/evenkeel-io/evenkeel/internal/standin"
)

// auditedSince gives what everybody has written in the namespace, in the order in which it was asked for.
func (w *world) auditedSince(since time.Time) []auditv1.Event {
	w.t.Helper()
	events, err := hub.AuditEvents()
	require.NoError(w.t, err)
	events = slices.DeleteFunc(events, func(e auditv1.Event) bool {
		return e.ObjectRef == nil || e.ObjectRef.Namespace != w.namespace || e.RequestReceivedTimestamp.Time.Before(since)
	})
	slices.SortStableFunc(events, func(a, b auditv1.Event) int {
		return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp.Time)
	})
	return events
}

// counted counts what hub-manager and hub-scheduler have written, by verb and resource. What was refused, since somebody
// else had written in between, and was tried again is not counted: how often that happens depends on the machine.
func counted(writes []auditv1.Event, matters func(*auditv1.Event) bool) map[string]int {
	counts := map[string]int{}
	for i := range writes {
		e := &writes[i]
		refused := e.ResponseStatus != nil && e.ResponseStatus.Code == http.StatusConflict
		if refused || !strings.HasPrefix(e.UserAgent, "hub-") || !matters(e) {
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

func (w *world) writesSince(since time.Time) map[string]int {
	w.t.Helper()
	return counted(w.auditedSince(since), func(*auditv1.Event) bool { return true })
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
	t.Logf("placing 4:\n%s\nmoving 4:\n%s", listed(placed), listed(moved))
}

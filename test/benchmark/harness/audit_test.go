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

package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A line as the API server writes it, for a pod's binding.
const bindingLine = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"0d9cbbb8-2f94-4f6a-b2d9-dd77a0b8c2aa",` +
	`"stage":"ResponseComplete","requestURI":"/api/v1/namespaces/bench/pods/model-0001-4-1/binding?timeout=10s","verb":"create",` +
	`"user":{"username":"system:kube-scheduler","groups":["system:authenticated"]},"sourceIPs":["127.0.0.1"],` +
	`"userAgent":"kube-scheduler/v1.35.8 (linux/amd64) kubernetes/abcdef0/scheduler",` +
	`"objectRef":{"resource":"pods","namespace":"bench","name":"model-0001-4-1","uid":"6b8b","apiVersion":"v1","subresource":"binding"},` +
	`"responseStatus":{"metadata":{},"status":"Success","code":201},` +
	`"requestReceivedTimestamp":"2026-11-30T16:41:00.123456Z","stageTimestamp":"2026-11-30T16:41:00.125001Z",` +
	`"annotations":{"authorization.k8s.io/decision":"allow"}}`

func TestParseRequest(t *testing.T) {
	request, ok, err := ParseRequest([]byte(bindingLine))
	require.NoError(t, err)
	assert.True(t, ok)
	received := time.Date(2026, time.November, 30, 16, 41, 0, 123456000, time.UTC)
	assert.Empty(t, cmp.Diff(Request{
		Verb:        "create",
		User:        "system:kube-scheduler",
		UserAgent:   "kube-scheduler/v1.35.8 (linux/amd64) kubernetes/abcdef0/scheduler",
		Resource:    "pods",
		Subresource: "binding",
		Namespace:   "bench",
		Name:        "model-0001-4-1",
		Code:        201,
		Received:    received,
		Done:        received.Add(1545 * time.Microsecond),
	}, request))
}

func TestParseRequestOfOtherLines(t *testing.T) {
	_, ok, err := ParseRequest([]byte(`{"stage":"RequestReceived","verb":"create"}`))
	require.NoError(t, err)
	assert.False(t, ok, "a request that is not answered yet")

	request, ok, err := ParseRequest([]byte(`{"stage":"ResponseComplete","verb":"patch","requestURI":"/healthz","responseStatus":null}`))
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Empty(t, request.Target(), "a request about no object")
	assert.False(t, request.Succeeded())

	for _, line := range []string{"", "{", "no JSON", `{"stageTimestamp":"yesterday"}`} {
		_, _, err := ParseRequest([]byte(line))
		assert.ErrorContains(t, err, "decode a line of the audit log", line)
	}
}

func TestTarget(t *testing.T) {
	assert.Equal(t, "pods/binding", (&Request{Resource: "pods", Subresource: "binding"}).Target())
	assert.Equal(t, "events.events.k8s.io", (&Request{Group: "events.k8s.io", Resource: "events"}).Target())
	assert.Equal(t, "replicaplacements.evenkeel.io/status",
		(&Request{Group: "evenkeel.io", Resource: "replicaplacements", Subresource: "status"}).Target())
}

func TestSucceeded(t *testing.T) {
	for code, want := range map[int]bool{0: false, 199: false, 200: true, 201: true, 299: true, 300: false, 409: false, 500: false} {
		assert.Equal(t, want, (&Request{Code: code}).Succeeded(), "code %d", code)
	}
}

func auditLineOf(name string) string {
	return fmt.Sprintf(`{"stage":"ResponseComplete","objectRef":{"name":%q}}`, name)
}

func names(requests []Request) []string {
	found := []string{}
	for _, r := range requests {
		found = append(found, r.Name)
	}
	return found
}

func TestAuditFollowerReadsEachLineOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	follower := NewAuditFollower(path)
	poll := func() []string {
		requests, err := follower.Poll()
		require.NoError(t, err)
		return names(requests)
	}
	assert.Empty(t, poll(), "the log does not exist yet")

	write := func(text string) {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = file.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	write(auditLineOf("a") + "\n" + auditLineOf("b") + "\n")
	assert.Equal(t, []string{"a", "b"}, poll())
	assert.Empty(t, poll(), "nothing was added")

	half := auditLineOf("c")
	write(half[:10])
	assert.Empty(t, poll(), "the line is being written")
	write(half[10:])
	assert.Empty(t, poll(), "its end is missing")
	write("\n" + auditLineOf("d") + "\n" + auditLineOf("e")[:5])
	assert.Equal(t, []string{"c", "d"}, poll())
}

func TestAuditFollowerTellsWhereItCannotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	good := auditLineOf("a") + "\n"
	require.NoError(t, os.WriteFile(path, []byte(good+"no JSON\n"), 0o600))
	requests, err := NewAuditFollower(path).Poll()
	assert.ErrorContains(t, err, fmt.Sprintf("at byte %d", len(good)))
	assert.Equal(t, []string{"a"}, names(requests))

	_, err = NewAuditFollower(t.TempDir()).Poll()
	assert.ErrorContains(t, err, "follow the audit log", "a folder is no log")
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(bindingLine))
	f.Add([]byte(`{"stage":"ResponseComplete","objectRef":null,"responseStatus":{"code":409}}`))
	f.Add([]byte(`{"requestReceivedTimestamp":"2026-11-30"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		request, ok, err := ParseRequest(line)
		if err != nil {
			assert.False(t, ok)
			assert.Empty(t, cmp.Diff(Request{}, request), "an error comes without a request")
		}
		request.Target()
	})
}

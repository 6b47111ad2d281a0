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
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

const testUser = "the-scheduler"

// at is a moment of a run, in milliseconds.
func at(milliseconds int) time.Time {
	return time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC).Add(time.Duration(milliseconds) * time.Millisecond)
}

// request takes 1 ms.
func request(user, verb, group, resource, subresource, name string, code, received int) harness.Request {
	return harness.Request{
		User: user, Verb: verb, Group: group, Resource: resource, Subresource: subresource,
		Namespace: namespace, Name: name, Code: code, Received: at(received), Done: at(received + 1),
	}
}

func podCreate(name string, received int) harness.Request {
	return request("admin", "create", "", "pods", "", name, 201, received)
}

func podBind(name string, code, received int) harness.Request {
	return request(testUser, "create", "", "pods", "binding", name, code, received)
}

func statusPatch(name string, code, received int) harness.Request {
	return request(testUser, "patch", evenkeel.GroupVersion.Group, "replicaplacements", "status", name, code, received)
}

func TestLogOfKube(t *testing.T) {
	l := newLog(kubeSide{}, testUser)
	assert.Zero(t, l.add([]harness.Request{
		request("admin", "create", "", "nodes", "", "cluster-0000", 201, 0),
		request("admin", "create", "", "pods", "", "refused", 403, 5),
		podCreate("b", 11),
		podCreate("a", 10),
	}))
	assert.Equal(t, 5, l.add([]harness.Request{
		podBind("a", 201, 20),
		podBind("b", 409, 25),
		podBind("b", 201, 30),
		request(testUser, "create", "events.k8s.io", "events", "", "a.1", 201, 40),
		podBind("c", 404, 50),
	}), "the scheduler's own requests")

	span, count, err := l.duration(ModeLive)
	require.NoError(t, err)
	assert.Equal(t, 21*time.Millisecond, span, "from the arrival of the first create at 10 to the answer to the last bind at 31")
	assert.Equal(t, 2, count)

	span, count, err = l.duration(ModeQueued)
	require.NoError(t, err)
	assert.Equal(t, 10*time.Millisecond, span, "from the answer to the first bind at 21")
	assert.Equal(t, 1, count)

	assert.Equal(t, map[string]int{"pods/binding": 4, "events.events.k8s.io": 1}, l.writes)
	assert.Equal(t, map[string]int{"409 pods/binding": 1, "404 pods/binding": 1}, l.refused)
	assert.Equal(t, 5, l.totalWrites())
}

func TestLogOfHub(t *testing.T) {
	l := newLog(hubSide{}, testUser)
	l.add([]harness.Request{
		request("admin", "create", evenkeel.GroupVersion.Group, "replicaplacements", "", "a", 201, 10),
		request("admin", "patch", evenkeel.GroupVersion.Group, "replicaplacements", "status", "a", 200, 11),
		podCreate("not-ours", 1),
		statusPatch("a", 200, 20), // says that it fits nowhere
		request(testUser, "update", evenkeel.GroupVersion.Group, "replicaplacements", "status", "b", 200, 21),
		request(testUser, "update", evenkeel.GroupVersion.Group, "replicaplacements", "", "c", 200, 22), // no status
		statusPatch("a", 409, 30),
		statusPatch("a", 200, 40), // the bind
	})
	assert.Len(t, l.bound, 2)
	span, count, err := l.duration(ModeLive)
	require.NoError(t, err)
	assert.Equal(t, 31*time.Millisecond, span, "the latest patch of a placement is its bind")
	assert.Equal(t, 2, count)
	assert.Equal(t, map[string]int{"replicaplacements.evenkeel.io/status": 4, "replicaplacements.evenkeel.io": 1}, l.writes)
}

func TestLogTooShortForARate(t *testing.T) {
	for name, requests := range map[string][]harness.Request{
		"nothing":           nil,
		"only a create":     {podCreate("a", 1)},
		"only refused":      {podCreate("a", 1), podBind("a", 500, 2)},
		"bind, no creation": {podBind("a", 201, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLog(kubeSide{}, testUser)
			l.add(requests)
			_, _, err := l.duration(ModeLive)
			assert.ErrorContains(t, err, "too few to take a rate over")
		})
	}
	l := newLog(kubeSide{}, testUser)
	l.add([]harness.Request{podCreate("a", 1), podBind("a", 201, 2)})
	_, _, err := l.duration(ModeQueued)
	assert.ErrorContains(t, err, "1 creates and 1 binds", "one bind spans no time")
}

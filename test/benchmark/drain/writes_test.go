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

package drain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/client-go/rest"

	"github.com/evenkeel-io/evenkeel/internal/standin"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
	"github.com/evenkeel-io/evenkeel/test/benchmark/programs"
)

func TestLog(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }
	l := newLog()
	own := l.add([]harness.Request{
		{User: programs.ManagerUser, Verb: "create", Group: "evenkeel.io", Resource: "replicaplacements", Code: 201, Done: at(1)},
		{User: programs.SchedulerUser, Verb: "patch", Group: "evenkeel.io", Resource: "replicaplacements", Subresource: "status", Code: 200, Done: at(2)},
		{User: programs.ManagerUser, Verb: "delete", Group: "modelplane.ai", Resource: "modelreplicas", Code: 200, Done: at(4)},
		{User: programs.ManagerUser, Verb: "delete", Group: "modelplane.ai", Resource: "modelreplicas", Code: 409, Done: at(5)},
		{User: programs.ManagerUser, Verb: "create", Group: "events.k8s.io", Resource: "events", Code: 201, Done: at(9)},
		{User: "admin", UserAgent: rest.AddUserAgent(&rest.Config{}, standin.UserAgent).UserAgent, Verb: "patch", Group: "modelplane.ai", Resource: "modelreplicas", Subresource: "status", Code: 200, Done: at(3)},
		{User: collectorUser, Verb: "patch", Group: "modelplane.ai", Resource: "modelreplicas", Code: 200, Done: at(6)},
		{User: "admin", UserAgent: "benchmark", Verb: "patch", Group: "modelplane.ai", Resource: "modelreplicas", Code: 200, Done: at(8)},
	})
	assert.Equal(t, 5, own)
	assert.Equal(t, map[string]int{
		"create replicaplacements.evenkeel.io": 1, "patch replicaplacements.evenkeel.io/status": 1,
		"delete modelreplicas.modelplane.ai": 2, "create events.events.k8s.io": 1,
	}, l.own)
	assert.Equal(t, map[string]int{"409 delete modelreplicas.modelplane.ai": 1}, l.refused)
	assert.Equal(t, mix{creates: 2, changes: 3, deletes: 2}, l.all)
	assert.Equal(t, 5, l.ownWrites())
	assert.Equal(t, at(6), l.last, "of what moves; the benchmark's own writes and what was refused do not count")
	assert.NoError(t, l.checkDeletes(shape{deployments: 1, replicas: 1}))
	assert.ErrorContains(t, l.checkDeletes(shape{deployments: 2, replicas: 1}), "deleted 1 replicas for 2 moves")
}

func TestBareWritesAreAsMany(t *testing.T) {
	for _, given := range []mix{{}, {creates: 3}, {changes: 5}, {deletes: 2}, {1, 2, 9}, {4, 10, 4}} {
		m := feasible(given)
		assert.Equal(t, given.total(), m.total(), "%+v", given)
		assert.LessOrEqual(t, m.deletes, m.creates, "%+v", given)
		made := m.creates + m.deletes
		for i := range m.creates {
			made += share(m.changes, m.creates, i)
		}
		assert.Equal(t, given.total(), made, "%+v", given)
	}
}

func TestBareChangesDiffer(t *testing.T) {
	assert.NotEqual(t, bareChange(1), bareChange(2))
}

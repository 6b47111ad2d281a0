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
	"fmt"
	"strings"
	"time"

	"github.com/evenkeel-io/evenkeel/internal/standin"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
	"github.com/evenkeel-io/evenkeel/test/benchmark/programs"
)

// collectorUser is the garbage collector.
const collectorUser = "system:serviceaccount:kube-system:generic-garbage-collector"

// mix counts writes by what they do to an object.
type mix struct {
	creates, changes, deletes int
}

func (m mix) total() int { return m.creates + m.changes + m.deletes }

// log is what the audit log tells about the drain.
type log struct {
	// own are Evenkeel's writes by target, and refused those that were refused, by status code and target.
	own, refused map[string]int
	// all are the writes of everything that takes part: Evenkeel, the stand-in, the garbage collector.
	all mix
	// deleted counts the replicas that the manager has deleted.
	deleted int
	// last is the answer to the last write to a replica, an endpoint or a placement.
	last time.Time
}

func newLog() *log {
	return &log{own: map[string]int{}, refused: map[string]int{}}
}

// add takes in further requests and tells how many of them were Evenkeel's.
func (l *log) add(requests []harness.Request) int {
	own := 0
	for i := range requests {
		r := &requests[i]
		evenkeels := r.User == programs.ManagerUser || r.User == programs.SchedulerUser
		if !evenkeels && r.User != collectorUser && !strings.HasSuffix(r.UserAgent, standin.UserAgent) {
			continue
		}
		l.addAny(r)
		if evenkeels {
			own++
			l.addOwn(r)
		}
	}
	return own
}

func (l *log) addAny(r *harness.Request) {
	switch r.Verb {
	case "create":
		l.all.creates++
	case "delete":
		l.all.deletes++
	default:
		l.all.changes++
	}
	switch r.Resource {
	case "modelreplicas", "modelendpoints", "replicaplacements":
		if r.Succeeded() && r.Done.After(l.last) {
			l.last = r.Done
		}
	}
}

func (l *log) addOwn(r *harness.Request) {
	harness.CountWrite(l.own, l.refused, r.Verb+" "+r.Target(), r)
	if r.Succeeded() && r.Verb == "delete" && r.Resource == "modelreplicas" {
		l.deleted++
	}
}

func (l *log) ownWrites() int {
	return harness.Total(l.own)
}

// checkDeletes makes sure that no replica was deleted twice, and none was lost.
func (l *log) checkDeletes(s shape) error {
	if l.deleted != s.moves() {
		return fmt.Errorf("the manager has deleted %d replicas for %d moves", l.deleted, s.moves())
	}
	return nil
}

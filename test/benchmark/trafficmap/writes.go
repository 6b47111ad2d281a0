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

package trafficmap

import (
	"time"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
	"github.com/evenkeel-io/evenkeel/test/benchmark/programs"
)

// log is what the audit log tells of the manager's writes.
type log struct {
	// own counts them by verb and target, refused those that were refused, by status code, verb and target.
	own, refused map[string]int
	// weights and conditions hold the services whose map got new ones.
	weights, conditions map[string]bool
	// last is the answer to the last write to a map, lastWeights to the last one of its spec.
	last, lastWeights time.Time
}

func newLog() *log {
	return &log{own: map[string]int{}, refused: map[string]int{}, weights: map[string]bool{}, conditions: map[string]bool{}}
}

// add takes in further requests and tells how many of them were the manager's.
func (l *log) add(requests []harness.Request) int {
	own := 0
	for i := range requests {
		r := &requests[i]
		if r.User != programs.ManagerUser {
			continue
		}
		own++
		harness.CountWrite(l.own, l.refused, r.Verb+" "+r.Target(), r)
		if r.Succeeded() && r.Resource == "trafficmaps" {
			l.addMap(r)
		}
	}
	return own
}

func (l *log) addMap(r *harness.Request) {
	l.last = later(l.last, r.Done)
	if r.Subresource == "status" {
		l.conditions[r.Name] = true
		return
	}
	l.weights[r.Name] = true
	l.lastWeights = later(l.lastWeights, r.Done)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// covers tells whether that many maps have got both weights and conditions. A map may still be written again.
func (l *log) covers(services int) bool {
	return len(l.weights) >= services && len(l.conditions) >= services
}

func (l *log) writes() int {
	return harness.Total(l.own)
}

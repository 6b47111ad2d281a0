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
	"fmt"
	"time"

	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// log is what the audit log tells about one run, brought up to date by add.
type log struct {
	side side
	// user is the scheduler's.
	user string
	// firstCreate is when the first object to be placed reached the API server.
	firstCreate time.Time
	created     int
	// bound holds the answer to the latest write that may have bound an object, by
	// namespace and name. An assignment is never changed, so the latest is the bind.
	bound map[string]time.Time
	// writes of the scheduler by target, and those of them that were refused by
	// status code and target.
	writes, refused map[string]int
}

func newLog(s side, user string) *log {
	return &log{side: s, user: user, bound: map[string]time.Time{}, writes: map[string]int{}, refused: map[string]int{}}
}

// add takes in further requests and returns how many of them the scheduler made.
func (l *log) add(requests []harness.Request) int {
	own := 0
	for i := range requests {
		request := &requests[i]
		switch {
		case request.User == l.user:
			own++
			l.addOwn(request)
		case l.side.isCreate(request) && request.Succeeded():
			l.created++
			if l.firstCreate.IsZero() || request.Received.Before(l.firstCreate) {
				l.firstCreate = request.Received
			}
		}
	}
	return own
}

func (l *log) addOwn(request *harness.Request) {
	harness.CountWrite(l.writes, l.refused, request.Target(), request)
	if !request.Succeeded() || !l.side.isBind(request) {
		return
	}
	key := request.Namespace + "/" + request.Name
	if request.Done.After(l.bound[key]) {
		l.bound[key] = request.Done
	}
}

// duration is the span that the rate is taken over, and count how many placements
// fall into it: see rateDefinitions.
func (l *log) duration(mode Mode) (span time.Duration, count int, err error) {
	var first, last time.Time
	for _, at := range l.bound {
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	count = len(l.bound)
	if mode == ModeLive {
		first = l.firstCreate
	} else {
		count--
	}
	span = last.Sub(first)
	if len(l.bound) == 0 || first.IsZero() || span <= 0 {
		return 0, 0, fmt.Errorf("the audit log has %d creates and %d binds, too few to take a rate over", l.created, len(l.bound))
	}
	return span, count, nil
}

func (l *log) totalWrites() int {
	return harness.Total(l.writes)
}

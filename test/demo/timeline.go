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

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/evenkeel-io/evenkeel/internal/workloadcluster"
)

// servingNames are what a person calls the services that are probed, in the prober's order.
var servingNames = []string{"the picker of chat", "the picker of embed", "the gateway", "DNS"}

// timed is a step of a maintenance.
type timed struct {
	what string
	at   time.Time
}

// record is one maintenance and what it did.
type record struct {
	events  []timed
	samples []workloadcluster.Sample
}

func (r *record) has(prefix string) bool {
	for _, e := range r.events {
		if strings.HasPrefix(e.what, prefix) {
			return true
		}
	}
	return false
}

// down is for how long a service had no Ready endpoint, to the accuracy of the probes.
func (r *record) down(service int) time.Duration {
	return time.Duration(workloadcluster.Down(r.samples)[service]) * workloadcluster.ProbeInterval
}

// worst gives the fewest Ready endpoints of each service in the phase that an event begins, and when it began.
func (r *record) worst(what string) (ready []int, since time.Duration, found bool) {
	for i, e := range r.events {
		if e.what != what {
			continue
		}
		end := time.Now()
		if i+1 < len(r.events) {
			end = r.events[i+1].at
		}
		for _, s := range r.samples {
			if s.At.Before(e.at) || !s.At.Before(end) {
				continue
			}
			if ready == nil {
				ready = append([]int(nil), s.Ready...)
			}
			for j := range ready {
				ready[j] = min(ready[j], s.Ready[j])
			}
		}
		return ready, e.at.Sub(r.events[0].at), true
	}
	return nil, 0, false
}

// sideBySide is a table of two records. A phase shorter than a probe shows nothing.
func sideBySide(without, with *record) string {
	var b strings.Builder
	const columns = "%-34s | %7s  %6s %6s %4s | %7s  %6s %6s %4s\n"
	fmt.Fprintf(&b, "%-34s | %-27s | %-27s\n", "", "without Evenkeel", "with Evenkeel")
	fmt.Fprintf(&b, columns, "", "", "picker", "gatew.", "DNS", "", "picker", "gatew.", "DNS")
	for _, e := range without.events {
		cells := []any{e.what}
		for _, r := range []*record{without, with} {
			cells = append(cells, phase(r, e.what)...)
		}
		fmt.Fprintf(&b, columns, cells...)
	}
	fmt.Fprintf(&b, columns, "without a Ready endpoint", "", total(without, 0, 1), total(without, 2), total(without, 3), "", total(with, 0, 1), total(with, 2), total(with, 3))
	return b.String()
}

func phase(r *record, what string) []any {
	ready, since, found := r.worst(what)
	if !found {
		return []any{"", "", "", ""}
	}
	at := fmt.Sprintf("%.1fs", since.Seconds())
	if ready == nil {
		return []any{at, "", "", ""}
	}
	return []any{at, readyText(min(ready[0], ready[1])), readyText(ready[2]), readyText(ready[3])}
}

func readyText(ready int) string {
	if ready == 0 {
		return "NONE"
	}
	return fmt.Sprint(ready)
}

func total(r *record, services ...int) string {
	var most time.Duration
	for _, service := range services {
		most = max(most, r.down(service))
	}
	return fmt.Sprintf("%.1fs", most.Seconds())
}

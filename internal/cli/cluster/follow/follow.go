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

package follow

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/evenkeel-io/evenkeel/internal/drain"
)

// End is how following a drain ended.
type End string

// Ends.
const (
	// EndDrained is a cluster that all replicas have left that must.
	EndDrained End = "Drained"
	// EndLifted is a drain that somebody has called off: no NoExecute taint is left.
	EndLifted End = "Lifted"
	// EndDeleted is a cluster that is gone.
	EndDeleted End = "Deleted"
	// EndTimeout is a drain that has taken longer than the caller wanted to wait.
	EndTimeout End = "Timeout"
	// EndInterrupted is a caller who does not want to wait any more.
	EndInterrupted End = "Interrupted"
)

// Result is how a drain stands when following it ends.
type Result struct {
	End
	// Rows of all replicas that the drain was about while it was followed.
	Rows []*Row
	// Drained is the condition as it was last; nil if hub-manager has said nothing about the taints as they are.
	Drained *metav1.Condition
	// Took is how long it was followed.
	Took time.Duration
}

// View shows a drain while it goes on.
type View interface {
	// Show is told how all replicas stand, which of them have changed, and for how long the drain is followed.
	Show(rows, changed []*Row, took time.Duration) error
	// Say adds a line.
	Say(line string) error
	// Close leaves the output fit for what others print.
	Close() error
}

const (
	// gather is how long changes are gathered before they are shown.
	gather = 250 * time.Millisecond
	// refresh is how often the view is shown when nothing changes.
	refresh = time.Second
	// silence is how long hub-manager may say nothing about the drain until that is remarked on.
	silence = 20 * time.Second
)

// Run follows the drain of a cluster until it ends, the timeout is over (0 is none) or the context ends,
// which is no error: the drain goes on.
func Run(ctx context.Context, client dynamic.Interface, cluster string, timeout time.Duration, view View) (*Result, error) {
	started := time.Now()
	source, watching, err := NewSource(ctx, client, cluster)
	if err != nil {
		if ctx.Err() != nil {
			return &Result{End: EndInterrupted, Took: time.Since(started)}, nil
		}
		return nil, err
	}
	defer source.Stop()
	f := &follower{view: view, started: started}
	var over <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		over = timer.C
	}
	result, err := f.run(watching, source, over)
	if err == nil && result.End == EndInterrupted && ctx.Err() == nil {
		err = context.Cause(watching) // it was not the caller who ended it
	}
	return result, errors.Join(err, view.Close())
}

type follower struct {
	view     View
	tracker  Tracker
	started  time.Time
	drained  *metav1.Condition
	remarked bool
}

func (f *follower) run(ctx context.Context, source *Source, over <-chan time.Time) (*Result, error) {
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		end, err := f.look(source.Snapshot())
		if err != nil || end != "" {
			return f.result(end), err
		}
		select {
		case <-ctx.Done():
			return f.result(EndInterrupted), nil
		case <-over:
			return f.result(EndTimeout), nil
		case <-tick.C:
		case <-source.Changed():
			pause(ctx, gather)
		}
	}
}

// pause waits, but not beyond the context's end.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// look shows a snapshot and tells whether the drain has ended with it.
func (f *follower) look(s *Snapshot) (End, error) {
	if s.Cluster == nil {
		return EndDeleted, nil
	}
	if !drain.Draining(s.Cluster) {
		return EndLifted, nil
	}
	now := time.Now()
	changed := f.tracker.Update(s, now)
	rows := f.tracker.Rows()
	f.drained = s.drained()
	if err := f.view.Show(rows, changed, now.Sub(f.started)); err != nil {
		return "", err
	}
	if f.drained != nil && f.drained.Status == metav1.ConditionTrue && LeftOf(rows) == 0 {
		return EndDrained, nil
	}
	return "", f.remark(now)
}

// remark says once that nobody reports about the drain.
func (f *follower) remark(now time.Time) error {
	if f.drained != nil || f.remarked || now.Sub(f.started) < silence {
		return nil
	}
	f.remarked = true
	return f.view.Say("hub-manager says nothing about this drain yet; does it run?")
}

func (f *follower) result(end End) *Result {
	return &Result{End: end, Rows: f.tracker.Rows(), Drained: f.drained, Took: time.Since(f.started).Round(time.Second)}
}

// LeftOf counts the rows of replicas that must still leave.
func LeftOf(rows []*Row) int {
	n := 0
	for _, row := range rows {
		if row.Left() {
			n++
		}
	}
	return n
}

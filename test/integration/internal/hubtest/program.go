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

package hubtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"
)

// quoted is how much of a program's log a failed test shows, in bytes.
const quoted = 6000

// Program is one of the project's binaries, run as a process that does not outlive this one.
type Program struct {
	// AtWork is what it logs at each start once it works; Again needs it.
	AtWork string

	name string
	path string
	args []string
	log  Output

	mu     sync.Mutex // guards the rest, which each start replaces
	cmd    *exec.Cmd
	exited chan struct{} // closed once cmd has ended
	err    error         // how it ended
}

// NewProgram names a binary in bin and its arguments.
func NewProgram(name string, args ...string) (*Program, error) {
	path, err := filepath.Abs(filepath.Join(Root, "bin", name))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%w: run make build first", err)
	}
	return &Program{name: name, path: path, args: args}, nil
}

// Run runs one of the project's binaries until the test ends. A test that fails shows the end of its log.
func Run(t *testing.T, name string, args ...string) *Program {
	t.Helper()
	p, err := NewProgram(name, args...)
	require.NoError(t, err)
	p.Run(t)
	return p
}

// Run runs the program until the test ends. A test that fails shows the end of its log.
func (p *Program) Run(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s:\n%s", p.name, p.Tail())
		}
	})
}

// Start runs the program, which must not run.
func (p *Program) Start() error {
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	exited := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.exited = cmd, exited
	p.mu.Unlock()
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(exited)
	}()
	return nil
}

// Signal sends a signal. It is no error if the program has ended.
func (p *Program) Signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.cmd.Process.Signal(s)
}

// Wait waits until the program has ended, and tells how.
func (p *Program) Wait() error {
	p.mu.Lock()
	exited := p.exited
	p.mu.Unlock()
	<-exited
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Kill ends the program without giving it a chance to clean up, and returns when it is gone.
func (p *Program) Kill() {
	p.Signal(syscall.SIGKILL)
	_ = p.Wait()
}

// Stop asks the program to end, and returns when it has.
func (p *Program) Stop() {
	p.Signal(syscall.SIGTERM)
	_ = p.Wait()
}

// Running tells whether the program has not ended.
func (p *Program) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// PID is the number of the process that was started last.
func (p *Program) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// Again kills the program, starts it again and waits until it is at work: on a slow machine one that is killed before
// would never get anything done. The end of the context is no error.
func (p *Program) Again(ctx context.Context) error {
	starts := strings.Count(p.Output(), p.AtWork)
	p.Kill()
	if err := p.Start(); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, Interval, Patience, true, func(context.Context) (bool, error) {
		return strings.Count(p.Output(), p.AtWork) > starts, nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s does not get to work: %w:\n%s", p.name, err, p.Tail())
	}
	return nil
}

// Output is all that the program has written, over all its starts.
func (p *Program) Output() string { return p.log.String() }

// Tail is the end of it.
func (p *Program) Tail() string {
	text := p.Output()
	if len(text) <= quoted {
		return text
	}
	return "..." + text[len(text)-quoted:]
}

// Output collects what a process writes, for others to look at meanwhile.
type Output struct {
	mu      sync.Mutex
	content bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.content.Write(b)
}

// String gives all of it.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.content.String()
}

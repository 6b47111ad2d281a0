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
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/controlplane/lifeline"
)

// Child is a process that is measured.
type Child struct {
	name    string
	cmd     *exec.Cmd
	logPath string
	line    *lifeline.Lifeline
	// exited is closed when the process is gone; the others may be read then.
	exited   chan struct{}
	exitErr  error
	exitedAt time.Time
}

// stopGrace is how long a child may take to end by itself.
const stopGrace = 10 * time.Second

// StartChild runs a program whose output goes to a file <name>.log in folder. Stop
// must be called. The program dies with this process if it attaches to its lifeline.
func StartChild(folder, name, program string, args ...string) (*Child, error) {
	line, err := lifeline.New()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	child := &Child{
		name:    name,
		cmd:     exec.Command(program, args...),
		logPath: filepath.Join(folder, name+".log"),
		line:    line,
		exited:  make(chan struct{}),
	}
	if err := child.start(); err != nil {
		line.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return child, nil
}

func (c *Child) start() error {
	log, err := os.Create(c.logPath)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own copy
	c.cmd.Stdout, c.cmd.Stderr = log, log
	// Its own process group: Ctrl-C reaches this process only, which then stops it.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.line.Tie(c.cmd)
	if err := c.cmd.Start(); err != nil {
		return err
	}
	go func() {
		c.exitErr = c.cmd.Wait()
		c.exitedAt = time.Now()
		close(c.exited)
	}()
	return nil
}

// Usage tells what the process has taken so far. It is read from /proc and not from
// getrusage: the peak that Linux reports for a child there also counts the pages of
// the parent that started it.
func (c *Child) Usage() (controlplane.Usage, error) {
	usage, err := controlplane.ProcessUsage(c.cmd.Process.Pid)
	if err != nil {
		return controlplane.Usage{}, fmt.Errorf("%s: %w", c.name, err)
	}
	return usage, nil
}

// Check returns an error, with the end of the log, if the process has ended.
func (c *Child) Check() error {
	select {
	case <-c.exited:
		end := c.exitErr
		if end == nil {
			end = errors.New("exit status 0")
		}
		return fmt.Errorf("%s ended: %w; the last lines of its log:\n%s", c.name, end, c.LogTail())
	default:
		return nil
	}
}

// Stop asks the process to end, kills it if it does not, and returns when it is gone.
func (c *Child) Stop(ctx context.Context) {
	defer c.line.Close()
	// Signals fail only where the process is gone already, which is what is wanted.
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	select {
	case <-c.exited:
	case <-ctx.Done():
		_ = c.cmd.Process.Kill()
		<-c.exited
	}
}

// LogTail returns the last lines that the process wrote.
func (c *Child) LogTail() string {
	const lines = 20
	content, err := os.ReadFile(c.logPath)
	if err != nil {
		return fmt.Sprintf("(the log cannot be read: %v)", err)
	}
	all := strings.Split(string(bytes.TrimSpace(content)), "\n")
	return "    " + strings.Join(all[max(0, len(all)-lines):], "\n    ")
}

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
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// patienceToEnd is how long a process may take to end by itself: it gives up its
// lease meanwhile.
const patienceToEnd = 10 * time.Second

// quotedLines is how much of a log an error quotes.
const quotedLines = 8

// process is one of Evenkeel's own programs, with its guard.
type process struct {
	name   string
	log    string
	cmd    *exec.Cmd
	alive  io.Closer     // closing it tells the guard that the demo is gone
	exited chan struct{} // closed once it has ended
}

// startProcess runs a program whose output goes to a file. onExit is called when it
// ends, also when stop ends it.
func startProcess(name, binary, log string, args []string, onExit func(*process)) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the child has its own copy
	demoIsThere, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = demoIsThere.Close() }()
	cmd, err := guarded(demoIsThere, binary, args)
	if err != nil {
		return nil, errors.Join(err, alive.Close())
	}
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), alive.Close())
	}
	p := &process{name: name, log: log, cmd: cmd, alive: alive, exited: make(chan struct{})}
	go func() {
		_ = p.cmd.Wait() // ProcessState says the same
		close(p.exited)
		onExit(p)
	}()
	return p, nil
}

// stop asks the program to end, and kills it if it does not.
func (p *process) stop() error {
	defer func() { _ = p.alive.Close() }()
	if err := p.signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(patienceToEnd):
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.exited
	return fmt.Errorf("%s did not end within %s and was killed", p.name, patienceToEnd)
}

// signal reaches the program and its guard. It is no error if both have ended.
func (p *process) signal(s syscall.Signal) error {
	select {
	case <-p.exited: // the number may be another group's by now
		return nil
	default:
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// ended describes the end of a process that should go on.
func (p *process) ended() error {
	return fmt.Errorf("%s ended by itself (%s): ...%s", p.name, p.cmd.ProcessState, lastLines(p.log, quotedLines))
}

func lastLines(path string, count int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}

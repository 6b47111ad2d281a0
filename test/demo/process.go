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

// process is one of Evenkeel's own programs.
type process struct {
	name   string
	log    string
	cmd    *exec.Cmd
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
	p := &process{name: name, log: log, cmd: exec.Command(binary, args...), exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = file, file
	// Its own process group, so that Ctrl-C reaches only the demo, which ends it in
	// order. Killed outright, the demo takes the control plane with it, and the
	// program ends when it cannot renew its lease.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // ProcessState says the same
		close(p.exited)
		onExit(p)
	}()
	return p, nil
}

// stop asks the process to end, and kills it if it does not.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(patienceToEnd):
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.exited
	return fmt.Errorf("%s did not end within %s and was killed", p.name, patienceToEnd)
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

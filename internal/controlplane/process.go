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

package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/evenkeel-io/evenkeel/internal/controlplane/lifeline"
)

// process is one component, which can be started, killed and started again.
type process struct {
	component Component
	binary    string
	args      []string
	dir       string // working directory; empty means this process's own
	logPath   string
	line      *lifeline.Lifeline

	mu      sync.Mutex
	running *os.Process   // nil while the component does not run
	exited  chan struct{} // closed when the latest run has ended; nil before the first
	exitErr error         // how the latest run ended; nil while it goes on
}

// start runs the component. It is an error if it runs already.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		return fmt.Errorf("%s runs already, with pid %d", p.component, p.running.Pid)
	}
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, ownerOnly)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.component, err)
	}
	defer func() { _ = log.Close() }() // the child has its own copy
	cmd := exec.Command(p.binary, p.args...)
	cmd.Dir = p.dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = environment()
	// Its own process group, so that Ctrl-C in a terminal reaches only the parent,
	// which then stops the components in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.line.Tie(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.component, err)
	}
	exited := make(chan struct{})
	p.running, p.exited, p.exitErr = cmd.Process, exited, nil
	go p.reap(cmd, exited)
	return nil
}

func (p *process) reap(cmd *exec.Cmd, exited chan struct{}) {
	err := cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		err = errors.New("exit status 0")
	}
	p.running, p.exitErr = nil, err
	close(exited)
}

// signalKill sends SIGKILL and returns a channel that is closed when the process
// is gone. The channel is nil if the process was never started.
func (p *process) signalKill() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		// It fails only if the process has just ended, which is what is wanted.
		_ = p.running.Kill()
	}
	return p.exited
}

// kill ends the process and waits until it is gone.
func (p *process) kill() {
	if exited := p.signalKill(); exited != nil {
		<-exited
	}
}

// currentPID is 0 while the process does not run.
func (p *process) currentPID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return 0
	}
	return p.running.Pid
}

// exitError says how the latest run ended, or nil while it goes on.
func (p *process) exitError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exitErr
}

// tailWindow is how much of the end of a log tail reads, in bytes.
const tailWindow = 64 << 10

// tail returns the last lines of a log, or what kept it from reading them: it is
// for messages about something worse.
func tail(path string, lines int) string {
	content, err := readEnd(path, tailWindow)
	if err != nil {
		return fmt.Sprintf("(the log cannot be read: %v)", err)
	}
	all := strings.Split(string(bytes.TrimRight(content, "\n")), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func readEnd(path string, window int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	offset := max(0, info.Size()-window)
	content := make([]byte, info.Size()-offset)
	n, err := file.ReadAt(content, offset)
	return content[:n], err
}

// gcPercent makes the components collect garbage a quarter as often as Go would. A control plane for tests has little
// in memory and makes much garbage, so that collecting it takes a good part of the API server's time.
const gcPercent = "400"

// environment is the parent's, whose GOGC wins.
func environment() []string {
	if os.Getenv("GOGC") != "" {
		return os.Environ()
	}
	return append(os.Environ(), "GOGC="+gcPercent)
}

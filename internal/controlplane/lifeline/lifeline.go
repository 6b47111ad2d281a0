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

// Package lifeline makes a child process die when its parent does, whatever
// kills the parent, SIGKILL included.
//
// The parent holds the writing end of a pipe and each child the reading end.
// Nothing is ever written: the kernel closes the pipe when the parent is gone,
// and the child ends itself when it sees that. Unlike PR_SET_PDEATHSIG this works
// on every Unix and does not fire when merely the parent's thread that started
// the child exits; unlike a poll of the parent's pid it needs no timer.
//
// The package must stay free of dependencies: every component links it.
package lifeline

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// EnvFD names the environment variable that tells a child which of its file
// descriptors is the reading end.
const EnvFD = "EVENKEEL_LIFELINE_FD"

// Lifeline is the parent's side.
type Lifeline struct {
	reader, writer *os.File
}

// New opens a lifeline. All children that are tied to it die when this process
// does, or when Close is called.
func New() (*Lifeline, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a lifeline for child processes: %w", err)
	}
	return &Lifeline{reader: reader, writer: writer}, nil
}

// Tie makes cmd, not started yet, a child that dies with this process. The
// program that cmd runs must call Attach.
func (l *Lifeline) Tie(cmd *exec.Cmd) {
	cmd.ExtraFiles = append(cmd.ExtraFiles, l.reader)
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	const afterStdio = 2 // exec.Cmd gives ExtraFiles[i] the descriptor 3+i
	cmd.Env = append(cmd.Env, EnvFD+"="+strconv.Itoa(afterStdio+len(cmd.ExtraFiles)))
}

// Close ends every child that is still tied to the lifeline.
func (l *Lifeline) Close() {
	// Closing a pipe of which nothing was written cannot lose data, so there is
	// no error worth telling.
	_ = l.writer.Close()
	_ = l.reader.Close()
}

// Attach is the child's side: it ends this process as soon as the parent is
// gone. It does nothing, and returns nil, when EnvFD is not set.
func Attach() error {
	value, ok := os.LookupEnv(EnvFD)
	if !ok {
		return nil
	}
	fd, err := strconv.Atoi(value)
	if err != nil || fd <= int(os.Stderr.Fd()) {
		return fmt.Errorf("environment variable %s is %q: it must be the number of a pipe above 2; unset it to run without a parent", EnvFD, value)
	}
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil || stat.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return fmt.Errorf("environment variable %s is %q, which is no open pipe; unset it to run without a parent", EnvFD, value)
	}
	// Grandchildren (kubectl's plugins and credential helpers) get neither the
	// pipe nor the variable: their own parent ends them.
	syscall.CloseOnExec(fd)
	if err := os.Unsetenv(EnvFD); err != nil {
		return fmt.Errorf("unset environment variable %s: %w", EnvFD, err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(uintptr(fd), "lifeline"))
		// SIGKILL to itself: no exit handler may keep an orphan alive.
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}()
	return nil
}

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
	"os/signal"
	"syscall"
)

// envGuard makes this program a guard: it runs its arguments as a command and kills
// it when the demo is gone. Without one, a hub-manager that still waits for its lease
// would wait for ever after the demo was killed with SIGKILL.
const envGuard = "EVENKEEL_DEMO_GUARD"

// guardFD is where a guard finds the reading end of a pipe whose writing end only
// the demo has: the kernel closes it when the demo is gone, whatever ended it.
const guardFD = 3

// guarded returns a command that runs another one under a guard, in a process group
// of its own, and tells the demo's end by a pipe.
func guarded(demoIsThere *os.File, binary string, args []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append([]string{binary}, args...)...)
	cmd.Env = append(os.Environ(), envGuard+"=1")
	cmd.ExtraFiles = []*os.File{demoIsThere}
	// Ctrl-C in a terminal then reaches only the demo, which ends all in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, nil
}

// guard runs a command until it or the demo ends and returns its exit code.
func guard(command []string) int {
	syscall.CloseOnExec(guardFD)
	// The whole group gets the signal: the command obeys, and the guard waits for it.
	signal.Ignore(syscall.SIGTERM)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := os.Unsetenv(envGuard); err != nil {
		return guardFailed(err)
	}
	if err := cmd.Start(); err != nil {
		return guardFailed(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(guardFD, "demo"))
		_ = cmd.Process.Kill() // it fails only if the command has ended
	}()
	err := cmd.Wait()
	var failure *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failure) && failure.Exited():
		return failure.ExitCode()
	default:
		return guardFailed(err)
	}
}

// guardFailed writes to the command's log why it has no exit code of its own.
func guardFailed(err error) int {
	fmt.Fprintln(os.Stderr, "demo:", err)
	return 1
}

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

package workloadcluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// patienceToEnd is how long a program may take to end by itself.
const patienceToEnd = 15 * time.Second

// guardScript runs a program and kills it when descriptor 3 is closed, which the kernel does however this process ends.
const guardScript = `trap : TERM
"$@" 3<&- &
child=$!
{ cat >/dev/null; kill -9 $child; } <&3 2>/dev/null &
while :; do wait $child; code=$?; kill -0 $child 2>/dev/null || break; done
exit $code`

// child is a program that runs beside the control plane and never outlives this process.
type child struct {
	name   string
	log    string
	cmd    *exec.Cmd
	alive  *os.File
	exited chan struct{}
}

// startChild runs a program whose output is appended to a file.
func startChild(name, log string, env []string, command ...string) (*child, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the child has its own copy
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }()
	cmd := exec.Command("sh", append([]string{"-c", guardScript, "guard"}, command...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.ExtraFiles = []*os.File{reader}
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), writer.Close())
	}
	c := &child{name: name, log: log, cmd: cmd, alive: writer, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // ProcessState says the same
		close(c.exited)
	}()
	return c, nil
}

// stop asks the program to end, and kills it if it does not in time. A nil child has ended.
func (c *child) stop() error {
	if c == nil {
		return nil
	}
	select {
	case <-c.exited:
		return c.alive.Close()
	default:
	}
	if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop %s: %w", c.name, err)
	}
	select {
	case <-c.exited:
		return c.alive.Close()
	case <-time.After(patienceToEnd):
	}
	return errors.Join(fmt.Errorf("%s did not end within %s", c.name, patienceToEnd), c.kill())
}

// kill ends the program as a crash would.
func (c *child) kill() error {
	if c == nil {
		return nil
	}
	err := c.alive.Close() // the guard kills
	<-c.exited
	return err
}

// died says why the program has ended, or nil while it runs.
func (c *child) died() error {
	select {
	case <-c.exited:
		content, _ := os.ReadFile(c.log)
		lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
		return fmt.Errorf("%s ended by itself (%s): ...%s", c.name, c.cmd.ProcessState, strings.Join(lines[max(0, len(lines)-8):], "\n"))
	default:
		return nil
	}
}

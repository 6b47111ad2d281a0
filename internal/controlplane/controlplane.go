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
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/evenkeel-io/evenkeel/internal/controlplane/lifeline"
)

// errStopped is why something fails on a control plane that was stopped.
var errStopped = errors.New("the control plane was stopped")

// ControlPlane is a running control plane. All methods may be called concurrently.
type ControlPlane struct {
	options Options
	binDir  string
	// ctx ends when Stop begins, so that nothing waits for what Stop has killed.
	ctx    context.Context
	cancel context.CancelCauseFunc

	folder      *folder
	line        *lifeline.Lifeline
	ports       map[Component]*portReservation
	processes   map[Component]*process
	authority   *authority
	adminConfig *rest.Config
	admin       kubernetes.Interface

	// lifecycle serializes what starts and ends processes.
	lifecycle sync.Mutex
	stopOnce  sync.Once
	stopErr   error
}

// Start brings up a control plane and returns when all of it is ready: the API
// server serves, and with the controller manager pods can be created in namespace
// "default". When ctx ends, the control plane is stopped as by Stop, whether or not
// Start has returned. The error of a component that does not come up quotes the end
// of its log; nothing is left behind then.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	binDir, err := FindBinDir(options.BinDir)
	if err != nil {
		return nil, fmt.Errorf("start a control plane: %w", err)
	}
	sweepStaleFolders()

	lifetime, cancel := context.WithCancelCause(ctx)
	cp := &ControlPlane{
		options:   options,
		binDir:    binDir,
		ctx:       lifetime,
		cancel:    cancel,
		ports:     map[Component]*portReservation{},
		processes: map[Component]*process{},
	}
	if err := cp.bringUp(); err != nil {
		return nil, errors.Join(fmt.Errorf("start a control plane: %w", err), cp.Stop())
	}
	// Stop keeps its error for the caller's own call of it.
	context.AfterFunc(lifetime, func() { _ = cp.Stop() })
	return cp, nil
}

func (cp *ControlPlane) bringUp() error {
	if err := cp.prepare(); err != nil {
		return err
	}
	cp.lifecycle.Lock()
	defer cp.lifecycle.Unlock()
	ctx, cancel := cp.boundedContext(cp.ctx)
	defer cancel()
	for _, stage := range startStages(cp.options.components()) {
		if err := cp.startAll(ctx, stage); err != nil {
			return err
		}
	}
	return nil
}

// startStages orders components: each stage needs the ones before it, and the
// members of one do not need each other.
func startStages(components []Component) [][]Component {
	return [][]Component{components[:1], components[1:2], components[2:]}
}

// prepare makes everything that the components read, and the processes, not
// started, of all of them: Restart can then start also one that Start left out.
func (cp *ControlPlane) prepare() error {
	var err error
	if cp.folder, err = createFolder(); err != nil {
		return err
	}
	if cp.line, err = lifeline.New(); err != nil {
		return err
	}
	for _, component := range []Component{APIServer, ControllerManager, Scheduler} {
		if cp.ports[component], err = reservePort(); err != nil {
			return err
		}
	}
	if err := cp.prepareAccess(); err != nil {
		return err
	}
	if cp.options.AuditPolicy != nil {
		if err := writeAuditPolicy(cp.folder.files, cp.options.AuditPolicy); err != nil {
			return err
		}
	}
	cp.prepareProcesses()
	return nil
}

func (cp *ControlPlane) prepareAccess() error {
	var err error
	if cp.authority, err = newAuthority(); err != nil {
		return err
	}
	if err := cp.authority.writePKI(cp.folder.files); err != nil {
		return err
	}
	if cp.adminConfig, err = cp.AddUser(adminUser, adminGroup); err != nil {
		return err
	}
	if cp.admin, err = kubernetes.NewForConfig(cp.Config()); err != nil {
		return fmt.Errorf("create the administrator's client: %w", err)
	}
	return cp.writeKubeconfigs()
}

func (cp *ControlPlane) prepareProcesses() {
	f := cp.folder.files
	args := map[Component][]string{
		Etcd:              etcdArgs(f),
		APIServer:         apiServerArgs(f, cp.ports[APIServer].port, &cp.options),
		ControllerManager: controllerManagerArgs(f, cp.ports[ControllerManager].port, &cp.options),
		Scheduler:         schedulerArgs(f, cp.ports[Scheduler].port, &cp.options),
	}
	for _, component := range allComponents {
		cp.processes[component] = &process{
			component: component,
			binary:    filepath.Join(cp.binDir, string(component)),
			args:      args[component],
			logPath:   f.log(component),
			line:      cp.line,
		}
	}
	// The others run in this process's directory, for relative paths in Options.
	cp.processes[Etcd].dir = f.dir
}

// BinDir returns the folder of the components' binaries; kubectl is there too.
func (cp *ControlPlane) BinDir() string {
	return cp.binDir
}

// LogPath returns the file that a component's output goes to, appended to by each
// of its runs. It is gone after Stop.
func (cp *ControlPlane) LogPath(component Component) string {
	return cp.folder.log(component)
}

// LogTail returns the last lines of a component's log, to quote in a message; where
// the log cannot be read it says so instead.
func (cp *ControlPlane) LogTail(component Component, lines int) string {
	return tail(cp.folder.log(component), lines)
}

// Stop kills every component and removes the control plane's folder. It returns
// when that is done. Further calls wait for the first and return the same.
func (cp *ControlPlane) Stop() error {
	cp.stopOnce.Do(func() {
		cp.cancel(errStopped)
		cp.lifecycle.Lock()
		defer cp.lifecycle.Unlock()
		cp.stopErr = cp.tearDown()
	})
	return cp.stopErr
}

// tearDown copes with a control plane of which any part was not made.
func (cp *ControlPlane) tearDown() error {
	for _, p := range cp.processes {
		p.signalKill()
	}
	for _, p := range cp.processes {
		p.kill()
	}
	if cp.line != nil {
		cp.line.Close()
	}
	for _, reservation := range cp.ports {
		if reservation != nil {
			reservation.release()
		}
	}
	if cp.folder == nil {
		return nil
	}
	if err := cp.folder.remove(); err != nil {
		return fmt.Errorf("stop the control plane: %w", err)
	}
	return nil
}

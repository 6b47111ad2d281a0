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
)

// Kill ends a component with SIGKILL, as a crash would, and returns when it is
// gone. Killing one that does not run is no error.
func (cp *ControlPlane) Kill(component Component) error {
	p, err := cp.process(component)
	if err != nil {
		return err
	}
	cp.lifecycle.Lock()
	defer cp.lifecycle.Unlock()
	p.kill()
	return nil
}

// Restart kills a component if it runs, starts it with the same arguments, port and
// data, and returns when it is ready again; after a restart of etcd also the API
// server, if it runs. It starts also a component that Options left out. Its error
// quotes the end of the component's log.
func (cp *ControlPlane) Restart(ctx context.Context, component Component) error {
	p, err := cp.process(component)
	if err != nil {
		return err
	}
	cp.lifecycle.Lock()
	defer cp.lifecycle.Unlock()
	if cp.ctx.Err() != nil {
		return fmt.Errorf("restart %s: %w", component, context.Cause(cp.ctx))
	}
	ctx, cancel := cp.boundedContext(ctx)
	defer cancel()
	p.kill()
	if err := cp.startAll(ctx, []Component{component}); err != nil {
		return fmt.Errorf("restart %w", err)
	}
	if component == Etcd && cp.processes[APIServer].currentPID() != 0 {
		if err := waitReady(ctx, cp.processes[APIServer], cp.probe(APIServer)); err != nil {
			return fmt.Errorf("after the restart of %s: %w", component, err)
		}
	}
	return nil
}

func (cp *ControlPlane) process(component Component) (*process, error) {
	p, ok := cp.processes[component]
	if !ok {
		return nil, fmt.Errorf("no component is called %q: it must be one of %v", component, allComponents)
	}
	return p, nil
}

// boundedContext ends with ctx, with the control plane or when a start has taken
// too long.
func (cp *ControlPlane) boundedContext(ctx context.Context) (context.Context, context.CancelFunc) {
	patience := cp.options.startTimeout()
	ctx, cancelTimeout := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not ready within %s", patience))
	ctx, cancel := context.WithCancelCause(ctx)
	detach := context.AfterFunc(cp.ctx, func() { cancel(context.Cause(cp.ctx)) })
	return ctx, func() {
		detach()
		cancel(context.Canceled)
		cancelTimeout()
	}
}

// startAll starts components that do not need each other and waits for all of them.
func (cp *ControlPlane) startAll(ctx context.Context, components []Component) error {
	var failures []error
	for _, component := range components {
		if err := cp.processes[component].start(); err != nil {
			failures = append(failures, err)
		}
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	for _, component := range components {
		if err := waitReady(ctx, cp.processes[component], cp.probe(component)); err != nil {
			return err
		}
	}
	return nil
}

//go:build integration

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

package operator

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/standin"
	"github.com/evenkeel-io/evenkeel/test/integration/internal/hubtest"
)

// People who use the plugin, and the shipped roles that they have.
var people = map[string][]string{
	"viewer":   {"evenkeel-viewer"},
	"operator": {"evenkeel-viewer", "evenkeel-operator"},
	"pauser":   {"evenkeel-viewer", "evenkeel-pauser"},
	"nobody":   nil,
}

// hub is the control plane that the tests share, with all of Evenkeel's programs at work.
var hub struct {
	*hubtest.Hub
	dynamic dynamic.Interface
	// kubeconfigs are the files of people.
	kubeconfigs        map[string]string
	manager, scheduler *hubtest.Program
	stopStandIn        func() error
}

func TestMain(m *testing.M) {
	hubtest.Main(m, func(ctx context.Context) (tearDown func() error, err error) {
		hub.stopStandIn = func() error { return nil }
		if hub.Hub, err = hubtest.Start(ctx, controlplane.Options{}, "dev/crds"); err != nil {
			return nil, err
		}
		if err := prepare(ctx); err != nil {
			return nil, errors.Join(err, stop())
		}
		return stop, nil
	})
}

func stop() error {
	for _, p := range []*hubtest.Program{hub.manager, hub.scheduler} {
		if p != nil {
			p.Kill()
		}
	}
	return errors.Join(hub.stopStandIn(), hub.Stop())
}

func prepare(ctx context.Context) (err error) {
	if hub.dynamic, err = dynamic.NewForConfig(hub.Config()); err != nil {
		return err
	}
	if err := hub.Kubectl(ctx, "apply", "-k", hubtest.Manifest("hub", "rbac")); err != nil {
		return err
	}
	if err := addPeople(ctx); err != nil {
		return err
	}
	stopStandIn, err := hub.StartStandIn(standin.Options{LoadTime: 500 * time.Millisecond, HoldTime: 200 * time.Millisecond})
	if err != nil {
		return err
	}
	hub.stopStandIn = stopStandIn
	return startPrograms(ctx)
}

// addPeople gives each person a kubeconfig and the shipped roles, and nothing else.
func addPeople(ctx context.Context) (err error) {
	hub.kubeconfigs = map[string]string{}
	for name, roles := range people {
		for _, role := range roles {
			if err := hub.Kubectl(ctx, "create", "clusterrolebinding", name+"-"+role, "--clusterrole="+role, "--user="+name); err != nil {
				return err
			}
		}
		if hub.kubeconfigs[name], err = hub.Kubeconfig(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func startPrograms(ctx context.Context) error {
	kubeconfig, err := hub.Kubeconfig(ctx, hubtest.ManagerUser, "hub/manager/rbac.yaml")
	if err != nil {
		return err
	}
	if hub.manager, err = hub.NewManager(kubeconfig, ""); err != nil {
		return err
	}
	if hub.scheduler, err = hub.NewScheduler(); err != nil {
		return err
	}
	return errors.Join(hub.manager.Start(), hub.scheduler.Start())
}

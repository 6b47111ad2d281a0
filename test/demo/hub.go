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
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/standin"
)

const (
	// loadTime and holdTime are those of the stand-in: long enough to be seen.
	loadTime = 4 * time.Second
	holdTime = 2 * time.Second
	// requestTime is how long a replica takes to answer: a request can be in flight
	// when its replica goes.
	requestTime = 400 * time.Millisecond
)

// hub is a control plane with everything on it that a fleet's hub has.
type hub struct {
	root   string
	folder string // temporary: configurations, kubeconfigs and logs
	out    *printer

	plane     *controlplane.ControlPlane
	client    client.Client
	processes []*process
	standIn   *standin.StandIn
	// webhookPort is where hub-manager serves webhooks.
	webhookPort int

	// stopStandIn ends the stand-in and waits for it.
	stopStandIn func() error
	// cancel ends the lifetime that start returned.
	cancel context.CancelCauseFunc
}

// newHub checks that everything is built, and starts nothing.
func newHub(root string, out *printer) (*hub, error) {
	if _, err := controlplane.FindBinDir(filepath.Join(root, "bin", "k8s")); err != nil {
		return nil, err
	}
	for _, p := range programs() {
		if _, err := os.Stat(p.binary(root)); err != nil {
			return nil, fmt.Errorf("no binary %s: run \"make build\"", p.binary(root))
		}
	}
	folder, err := createFolder()
	if err != nil {
		return nil, err
	}
	h := &hub{root: root, folder: folder, out: out, cancel: func(error) {}, stopStandIn: func() error { return nil }}
	if err := os.Mkdir(h.logs(), 0o700); err != nil {
		return nil, errors.Join(err, h.stop())
	}
	return h, nil
}

func (h *hub) logs() string          { return filepath.Join(h.folder, "logs") }
func (h *hub) kubeconfig() string    { return h.plane.KubeconfigPath() }
func (h *hub) kubectlBinary() string { return filepath.Join(h.plane.BinDir(), "kubectl") }

// start brings everything up. The context that it returns ends with ctx, and when a
// part of the hub ends by itself, which is then its cause.
func (h *hub) start(ctx context.Context) (context.Context, error) {
	lifetime, cancel := context.WithCancelCause(ctx)
	h.cancel = cancel
	started := time.Now()
	h.out.printf("Starting a control plane (etcd, kube-apiserver, kube-controller-manager), hub-scheduler, hub-manager and a stand-in for Modelplane's composer ...\n")
	for _, step := range []func(context.Context) error{
		h.startPlane, h.installKinds, h.startPrograms, h.startStandIn,
	} {
		if err := step(lifetime); err != nil {
			if cause := context.Cause(lifetime); cause != nil {
				err = cause
			}
			return nil, err
		}
	}
	h.out.printf("Up after %.1fs.\n", time.Since(started).Seconds())
	return lifetime, nil
}

func (h *hub) startPlane(ctx context.Context) error {
	// Once it is up it must outlive ctx, so that stop can end what uses it first.
	plane, cancel := context.WithCancel(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, cancel)
	defer detach()
	var err error
	h.plane, err = controlplane.Start(plane, controlplane.Options{BinDir: filepath.Join(h.root, "bin", "k8s")})
	if err != nil {
		cancel()
	}
	return err
}

// installKinds installs the CRDs and makes the client that knows them.
func (h *hub) installKinds(ctx context.Context) error {
	err := h.plane.InstallCRDs(ctx,
		filepath.Join(h.root, "manifests", "dev", "crds"), filepath.Join(h.root, "manifests", "dev", "crds-gateway-api"),
		filepath.Join(h.root, "manifests", "hub", "crds"))
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(modelplane.AddToScheme(scheme), evenkeel.AddToScheme(scheme), ome.AddToScheme(scheme)); err != nil {
		return err
	}
	h.client, err = client.New(h.plane.Config(), client.Options{Scheme: scheme})
	return err
}

func (h *hub) startStandIn(ctx context.Context) error {
	var err error
	h.standIn, err = standin.New(h.plane.Config(), standin.Options{LoadTime: loadTime, HoldTime: holdTime, RequestTime: requestTime})
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := h.standIn.Run(running)
		ended <- err
		h.cancel(errors.Join(errors.New("the stand-in ended by itself"), err))
	}()
	h.stopStandIn = func() error {
		cancel()
		return <-ended
	}
	return nil
}

// stop ends everything in the reverse order and removes the folder. It copes with a
// hub of which any part was not started.
func (h *hub) stop() error {
	h.cancel(errors.New("the demo is over"))
	var failures []error
	for i := len(h.processes) - 1; i >= 0; i-- {
		failures = append(failures, h.processes[i].stop())
	}
	failures = append(failures, h.stopStandIn())
	if h.plane != nil {
		failures = append(failures, h.plane.Stop())
	}
	failures = append(failures, os.RemoveAll(h.folder))
	return errors.Join(failures...)
}

// keepLogs copies the logs of all processes to a folder, which it replaces, and
// returns it; nothing if there are no logs yet.
func (h *hub) keepLogs(target string) (string, error) {
	sources, err := filepath.Glob(filepath.Join(h.logs(), "*.log"))
	if err != nil {
		return "", err
	}
	if h.plane != nil {
		for _, component := range []controlplane.Component{controlplane.Etcd, controlplane.APIServer, controlplane.ControllerManager} {
			sources = append(sources, h.plane.LogPath(component))
		}
	}
	if len(sources) == 0 {
		return "", nil
	}
	if err := os.RemoveAll(target); err != nil {
		return "", err
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return "", err
	}
	for _, source := range sources {
		if err := copyFile(filepath.Join(target, filepath.Base(source)), source); err != nil {
			return "", err
		}
	}
	return target, nil
}

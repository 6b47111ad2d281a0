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
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

//go:embed kwok.yaml
var kwokStages string

// The nodes of a cluster as Start makes it.
const (
	SystemA = "system-a"
	SystemB = "system-b"
	GPUA    = "gpu-a"
	GPUB    = "gpu-b"
)

const (
	// Patience bounds every wait; a step takes a few seconds on an idle machine.
	Patience = 3 * time.Minute
	// Pause between two looks.
	Pause = 100 * time.Millisecond

	defaultReadyAfter = time.Second
)

// Options of a cluster.
type Options struct {
	// Root is the repository, with bin/ and manifests/.
	Root string
	// SystemNodes are the names of the nodes without a GPU; system-a and system-b when nil.
	SystemNodes []string
	// ReadyAfter is how long a pod takes from a node to Ready; a second when zero.
	ReadyAfter time.Duration
	// Bare leaves out nodes, kwok, controller manager and scheduler: an API server on which nothing happens by itself.
	Bare bool
}

// Cluster is a running workload cluster.
type Cluster struct {
	*controlplane.ControlPlane
	// Client is the administrator's.
	Client client.Client
	// Kube is the same, for libraries that want it.
	Kube kubernetes.Interface

	options Options
	folder  string
	kwok    *child
	manager *child
	proxies *envoyGateway
}

// Start brings up a cluster with its nodes and nothing on them.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	for _, name := range []string{"kwok", managerName} {
		if binary := filepath.Join(options.Root, "bin", name); !fileExists(binary) {
			return nil, fmt.Errorf("no binary %s: run \"make build\"", binary)
		}
	}
	if options.SystemNodes == nil {
		options.SystemNodes = []string{SystemA, SystemB}
	}
	if options.ReadyAfter == 0 {
		options.ReadyAfter = defaultReadyAfter
	}
	c := &Cluster{options: options}
	if err := c.bringUp(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start a workload cluster: %w", err), c.Stop())
	}
	return c, nil
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (c *Cluster) bringUp(ctx context.Context) error {
	var err error
	if c.ControlPlane, err = controlplane.Start(ctx, controlplane.Options{
		BinDir:                   filepath.Join(c.options.Root, "bin", "k8s"),
		Scheduler:                !c.options.Bare,
		DisableControllerManager: c.options.Bare,
	}); err != nil {
		return err
	}
	if c.folder, err = os.MkdirTemp("", "evenkeel-workload-"); err != nil {
		return err
	}
	if c.Client, err = client.New(c.Config(), client.Options{Scheme: newScheme()}); err != nil {
		return err
	}
	if c.Kube, err = kubernetes.NewForConfig(c.Config()); err != nil {
		return err
	}
	if err := c.InstallCRDs(ctx, filepath.Join(c.options.Root, "manifests", "dev", "crds-workload")); err != nil {
		return err
	}
	if c.options.Bare {
		return nil
	}
	return c.startNodes(ctx)
}

// startNodes makes the nodes and starts their kubelets.
func (c *Cluster) startNodes(ctx context.Context) error {
	stages := filepath.Join(c.folder, "kwok.yaml")
	content := strings.ReplaceAll(kwokStages, "READY_AFTER_MILLISECONDS", strconv.FormatInt(c.options.ReadyAfter.Milliseconds(), 10))
	if err := os.WriteFile(stages, []byte(content), 0o600); err != nil {
		return err
	}
	var err error
	c.kwok, err = startChild("kwok", filepath.Join(c.folder, "kwok.log"), []string{"HOME=" + c.folder}, filepath.Join(c.options.Root, "bin", "kwok"),
		"--kubeconfig="+c.KubeconfigPath(), "--config="+stages, "--node-lease-duration-seconds=40", "-v=WARN",
		"--manage-nodes-with-annotation-selector="+managedBy+"="+managed)
	if err != nil {
		return err
	}
	for _, name := range c.options.SystemNodes {
		if err := c.AddSystemNode(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range []string{GPUA, GPUB} {
		if err := c.addNode(ctx, gpuNode(name)); err != nil {
			return err
		}
	}
	return c.await(ctx, "all nodes to be Ready", func(ctx context.Context) (bool, error) {
		nodes := &corev1.NodeList{}
		err := c.Client.List(ctx, nodes)
		return err == nil && len(nodes.Items) == len(c.options.SystemNodes)+2 && allReady(nodes.Items), err
	})
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, discoveryv1.AddToScheme, autoscalingv2.AddToScheme, eventsv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err) // generated registrations do not fail
		}
	}
	return scheme
}

// Stop ends everything and removes what it has written. It copes with a cluster of which any part was not started.
func (c *Cluster) Stop() error {
	failures := []error{c.proxies.stop(), c.manager.stop(), c.kwok.kill()}
	if c.ControlPlane != nil {
		failures = append(failures, c.ControlPlane.Stop())
	}
	if c.folder != "" {
		failures = append(failures, os.RemoveAll(c.folder))
	}
	return errors.Join(failures...)
}

// Logs are the files that the programs beside the control plane write to. They are gone after Stop.
func (c *Cluster) Logs() []string {
	logs, err := filepath.Glob(filepath.Join(c.folder, "*.log"))
	if err != nil {
		return nil // the pattern is good
	}
	return logs
}

// await looks until something holds. An error of a look that may pass counts as "not yet", and is told at the end.
func (c *Cluster) await(ctx context.Context, what string, holds func(context.Context) (bool, error)) error {
	var latest error
	err := wait.PollUntilContextTimeout(ctx, Pause, Patience, true, func(ctx context.Context) (bool, error) {
		for _, program := range []*child{c.kwok, c.manager} {
			if program != nil && program.died() != nil {
				return false, program.died()
			}
		}
		ok, err := holds(ctx)
		latest = err
		return ok && err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, errors.Join(err, latest))
	}
	return nil
}

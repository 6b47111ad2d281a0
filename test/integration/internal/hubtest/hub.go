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

package hubtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

const (
	// Root is the repository, seen from the folder of a package of tests.
	Root = "../../.."
	// SystemNamespace is Evenkeel's own.
	SystemNamespace = "evenkeel-system"
	// ManagerUser and SchedulerUser are whom the shipped roles were made for.
	ManagerUser   = "system:serviceaccount:" + SystemNamespace + ":hub-manager"
	SchedulerUser = "system:serviceaccount:" + SystemNamespace + ":hub-scheduler"

	setUpTimeout = 4 * time.Minute
)

// Hub is a control plane that serves Evenkeel's kinds and some of those that it works with.
type Hub struct {
	*controlplane.ControlPlane
	// Client is an administrator's. It knows all kinds, served or not.
	Client client.Client
	// Folder is for files that last as long as the hub.
	Folder string
}

// Start starts a hub. kinds are files and folders with CustomResourceDefinitions, below manifests; those of
// manifests/hub/crds are there always. Stop must be called.
func Start(ctx context.Context, options controlplane.Options, kinds ...string) (*Hub, error) {
	options.BinDir = filepath.Join(Root, "bin", "k8s")
	cp, err := controlplane.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	h := &Hub{ControlPlane: cp}
	if err := h.setUp(ctx, options, kinds); err != nil {
		return nil, errors.Join(err, h.Stop())
	}
	return h, nil
}

// Stop ends the hub and removes its files.
func (h *Hub) Stop() error {
	return errors.Join(h.ControlPlane.Stop(), os.RemoveAll(h.Folder))
}

func (h *Hub) setUp(ctx context.Context, options controlplane.Options, kinds []string) error {
	ctx, cancel := context.WithTimeout(ctx, setUpTimeout)
	defer cancel()
	var err error
	if h.Folder, err = os.MkdirTemp("", "evenkeel-hubtest-"); err != nil {
		return err
	}
	crds := []string{Manifest("hub", "crds")}
	for _, kind := range kinds {
		crds = append(crds, Manifest(kind))
	}
	if err := h.InstallCRDs(ctx, crds...); err != nil {
		return err
	}
	if !options.DisableControllerManager {
		// The garbage collector learns of new kinds every half minute, or when it starts.
		if err := h.Restart(ctx, controlplane.ControllerManager); err != nil {
			return err
		}
	}
	scheme, err := Scheme()
	if err != nil {
		return err
	}
	if h.Client, err = client.New(h.Config(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return h.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: SystemNamespace}})
}

// Scheme has every kind that the tests write.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, modelplane.AddToScheme, evenkeel.AddToScheme, ome.AddToScheme, gatewayv1.Install,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// Manifest gives the path of a file or folder below manifests.
func Manifest(parts ...string) string {
	return filepath.Join(append([]string{Root, "manifests"}, parts...)...)
}

// Kubectl runs kubectl with all rights.
func (h *Hub) Kubectl(ctx context.Context, args ...string) error {
	kubectl := exec.CommandContext(ctx, filepath.Join(h.BinDir(), "kubectl"), append([]string{"--kubeconfig=" + h.KubeconfigPath()}, args...)...)
	if out, err := kubectl.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %v: %w: %s", args, err, out)
	}
	return nil
}

// Kubeconfig writes the kubeconfig of a user who may do what the roles bound to this name allow, and nothing else, and
// waits until the API server knows these roles. Files with roles, below manifests, are applied before.
func (h *Hub) Kubeconfig(ctx context.Context, user string, roles ...string) (path string, err error) {
	for _, file := range roles {
		if err := h.Kubectl(ctx, "apply", "-f", Manifest(file)); err != nil {
			return "", err
		}
	}
	config, err := h.AddUser(user, "system:serviceaccounts", "system:authenticated")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, setUpTimeout)
	defer cancel()
	if err := h.AwaitRights(ctx, user); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(h.Folder, "*.kubeconfig")
	if err != nil {
		return "", err
	}
	return file.Name(), errors.Join(file.Close(), controlplane.WriteKubeconfig(file.Name(), config))
}

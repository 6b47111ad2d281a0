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

package harness

import (
	"context"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

// StartProgram runs one of the project's binaries against a control plane as the service account that a user name
// stands for ("system:serviceaccount:<namespace>:<name>"), so that it has what RBAC grants to that account and nothing
// else. Like a pod it authenticates by a token. Its kubeconfig and its log go to folder. The namespace must exist, and
// the child must be stopped.
func (e *Environment) StartProgram(ctx context.Context, cp *controlplane.ControlPlane, folder, program, user string, args ...string) (*Child, error) {
	config, err := ServiceAccount(ctx, cp, user)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	kubeconfig := filepath.Join(folder, program+".kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, config); err != nil {
		return nil, err
	}
	return StartChild(folder, program, e.Binary(program), append(args, "--kubeconfig="+kubeconfig)...)
}

// ServiceAccount returns a client configuration with a token of the service account that a user name stands for, and
// creates the account where there is none.
func ServiceAccount(ctx context.Context, cp *controlplane.ControlPlane, user string) (*rest.Config, error) {
	namespace, name, err := serviceaccount.SplitUsername(user)
	if err != nil {
		return nil, err
	}
	clients, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		return nil, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err = clients.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("create service account %s/%s: %w", namespace, name, err)
	}
	return cp.ServiceAccount(ctx, namespace, name)
}

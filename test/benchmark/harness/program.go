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
	"fmt"
	"path/filepath"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

// StartProgram runs one of the project's binaries against a control plane, as the user of a service account
// ("system:serviceaccount:<namespace>:<name>"), so that it has what RBAC grants to that account and nothing else. Its
// kubeconfig and its log go to folder. The child must be stopped.
func (e *Environment) StartProgram(cp *controlplane.ControlPlane, folder, program, user string, args ...string) (*Child, error) {
	namespace, _, err := serviceaccount.SplitUsername(user)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	groups := append(serviceaccount.MakeGroupNames(namespace), "system:authenticated")
	config, err := cp.AddUser(user, groups...)
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(folder, program+".kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, config); err != nil {
		return nil, err
	}
	return StartChild(folder, program, e.Binary(program), append(args, "--kubeconfig="+kubeconfig)...)
}

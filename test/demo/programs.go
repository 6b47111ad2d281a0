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
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

// systemNamespace is where Evenkeel's own objects are.
const systemNamespace = "evenkeel-system"

// program is one of Evenkeel's programs. It runs as its manifests say, as a process
// instead of a Deployment: with the configuration in its ConfigMap and the rights of
// its ServiceAccount.
type program struct {
	name      string
	manifests string // a kustomization below manifests/hub
	// more kustomizations there, with rights that are granted besides.
	more []string
	// settings of the configuration that must differ in the demo.
	settings func(h *hub, kubeconfig string) map[string]any
	flags    func(kubeconfig string) []string
}

func programs() []program {
	return []program{
		{
			name:      "hub-scheduler",
			manifests: "scheduler/default",
			settings: func(_ *hub, kubeconfig string) map[string]any {
				return map[string]any{"clientConnection": map[string]any{"kubeconfig": kubeconfig}}
			},
			flags: func(string) []string { return []string{"--secure-port=0"} },
		},
		{
			name:      "hub-manager",
			manifests: "manager",
			more:      []string{"trafficmap"},
			settings: func(h *hub, _ string) map[string]any {
				return map[string]any{
					"healthBindAddress": "0", "metricsBindAddress": "0",
					"webhooks":   map[string]any{"bindAddress": fmt.Sprintf("127.0.0.1:%d", h.webhookPort)},
					"trafficMap": trafficMapSettings(),
				}
			},
			flags: func(kubeconfig string) []string { return []string{"--kubeconfig=" + kubeconfig} },
		},
	}
}

func (p program) binary(root string) string {
	return filepath.Join(root, "bin", p.name)
}

// startPrograms installs what the programs' manifests grant and runs them.
func (h *hub) startPrograms(ctx context.Context) error {
	if output, err := h.kubectlQuietly(ctx, nil, "create", "namespace", systemNamespace); err != nil {
		return fmt.Errorf("create namespace %s: %w: %s", systemNamespace, err, output)
	}
	if err := h.installWebhooks(ctx); err != nil {
		return err
	}
	for _, p := range programs() {
		if err := h.startProgram(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// installWebhooks has the API server call hub-manager on a port of this machine.
func (h *hub) installWebhooks(ctx context.Context) (err error) {
	if h.webhookPort, err = controlplane.FreePort(); err != nil {
		return err
	}
	return h.plane.InstallWebhooks(ctx, h.webhookPort, filepath.Join(h.root, "manifests", "hub", "manager", "webhooks.yaml"))
}

func (h *hub) startProgram(ctx context.Context, p program) error {
	parts, err := h.render(ctx, filepath.Join("manifests", "hub", p.manifests))
	if err != nil {
		return err
	}
	if output, err := h.kubectlQuietly(ctx, strings.NewReader(parts.access), "apply", "-f", "-"); err != nil {
		return fmt.Errorf("apply the access rules: %w: %s", err, output)
	}
	for _, folder := range p.more {
		if output, err := h.kubectlQuietly(ctx, nil, "apply", "-k", filepath.Join("manifests", "hub", folder)); err != nil {
			return fmt.Errorf("apply %s: %w: %s", folder, err, output)
		}
	}
	kubeconfig, err := h.writeKubeconfig(p.name, parts.serviceAccount)
	if err != nil {
		return err
	}
	config, err := h.writeConfig(p, parts.config, kubeconfig)
	if err != nil {
		return err
	}
	args := append([]string{"--config=" + config}, p.flags(kubeconfig)...)
	process, err := startProcess(p.name, p.binary(h.root), filepath.Join(h.logs(), p.name+".log"), args, func(ended *process) {
		h.cancel(ended.ended())
	})
	if err != nil {
		return err
	}
	h.processes = append(h.processes, process)
	return nil
}

// writeKubeconfig makes a user with the name that the API server gives to a service
// account, so that RBAC grants it the same.
func (h *hub) writeKubeconfig(name, serviceAccount string) (string, error) {
	user, err := h.plane.AddUser(
		fmt.Sprintf("system:serviceaccount:%s:%s", systemNamespace, serviceAccount),
		"system:serviceaccounts", "system:serviceaccounts:"+systemNamespace)
	if err != nil {
		return "", err
	}
	path := filepath.Join(h.folder, name+".kubeconfig")
	return path, controlplane.WriteKubeconfig(path, user)
}

func (h *hub) writeConfig(p program, shipped, kubeconfig string) (string, error) {
	config := map[string]any{}
	if err := yaml.Unmarshal([]byte(shipped), &config); err != nil {
		return "", fmt.Errorf("the shipped configuration: %w", err)
	}
	for key, value := range p.settings(h, kubeconfig) {
		config[key] = merge(config[key], value)
	}
	content, err := yaml.Marshal(config)
	if err != nil {
		return "", err
	}
	path := filepath.Join(h.folder, p.name+".yaml")
	return path, os.WriteFile(path, content, 0o600)
}

// merge puts a setting over what is there; of two objects, key by key.
func merge(under, over any) any {
	target, isObject := under.(map[string]any)
	source, both := over.(map[string]any)
	if !isObject || !both {
		return over
	}
	for key, value := range source {
		target[key] = merge(target[key], value)
	}
	return target
}

// parts is what the demo takes of a program's manifests.
type parts struct {
	access         string // YAML of the objects that grant rights
	serviceAccount string
	config         string
}

// render reads a kustomization. It leaves out what needs nodes, such as Deployments.
func (h *hub) render(ctx context.Context, folder string) (*parts, error) {
	rendered, err := h.kubectlQuietly(ctx, nil, "kustomize", folder)
	if err != nil {
		return nil, fmt.Errorf("kubectl kustomize %s: %w: %s", folder, err, rendered)
	}
	var found parts
	var access bytes.Buffer
	decoder := utilyaml.NewYAMLToJSONDecoder(strings.NewReader(rendered))
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		if err := found.take(object, &access); err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
	}
	found.access = access.String()
	if found.serviceAccount == "" || found.config == "" {
		return nil, fmt.Errorf("%s has no ServiceAccount, or no ConfigMap with config.yaml", folder)
	}
	return &found, nil
}

func (f *parts) take(object *unstructured.Unstructured, access io.Writer) error {
	switch object.GetKind() {
	case "ConfigMap":
		config, _, err := unstructured.NestedString(object.Object, "data", "config.yaml")
		f.config = config
		return err
	case "ServiceAccount":
		f.serviceAccount = object.GetName()
	case "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
	default:
		return nil
	}
	content, err := yaml.Marshal(object.Object)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(access, "---\n%s", content)
	return err
}

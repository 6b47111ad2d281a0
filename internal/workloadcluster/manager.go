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
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

// SystemNamespace is Evenkeel's own.
const SystemNamespace = "evenkeel-system"

const managerName = "workload-manager"

// InstallEvenkeel applies the shipped manifests and runs workload-manager as a process with the rights of its service
// account. settings are put over the shipped configuration. The Deployment is applied too: kwok plays its pods. The
// Service leads to the process, since no pod of kwok answers.
func (c *Cluster) InstallEvenkeel(ctx context.Context, settings map[string]any) error {
	if err := c.createNamespace(ctx, SystemNamespace); err != nil {
		return err
	}
	port, err := controlplane.FreePort()
	if err != nil {
		return err
	}
	objects, err := c.render(ctx)
	if err != nil {
		return err
	}
	var config string
	for _, object := range objects {
		if object.GetKind() == "ConfigMap" {
			if config, _, err = unstructured.NestedString(object.Object, "data", "config.yaml"); err != nil {
				return err
			}
		}
		if err := lead(object, port); err != nil {
			return err
		}
		if _, err := c.apply(ctx, "installer", object); err != nil {
			return err
		}
	}
	return c.startManager(ctx, config, port, settings)
}

// render gives the objects of the shipped manifests.
func (c *Cluster) render(ctx context.Context) ([]*unstructured.Unstructured, error) {
	folder := filepath.Join(c.options.Root, "manifests", "workload")
	cmd := exec.CommandContext(ctx, filepath.Join(c.BinDir(), "kubectl"), "kustomize", folder)
	cmd.Env = append(os.Environ(), "KUBERC=off", "HOME="+c.folder)
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("kubectl kustomize %s: %w", folder, err)
	}
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLToJSONDecoder(strings.NewReader(string(output)))
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		objects = append(objects, object)
	}
}

// lead makes the API server's calls reach the process: EndpointSlices refuse loopback addresses, but a Service may be
// another name for localhost.
func lead(object *unstructured.Unstructured, port int) error {
	switch object.GetKind() {
	case "Service":
		object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
	case "MutatingWebhookConfiguration":
		webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil {
			return err
		}
		for _, w := range webhooks {
			if err := unstructured.SetNestedField(w.(map[string]any), int64(port), "clientConfig", "service", "port"); err != nil {
				return err
			}
		}
		return unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
	}
	return nil
}

func (c *Cluster) startManager(ctx context.Context, shipped string, port int, settings map[string]any) error {
	const name = "system:serviceaccount:" + SystemNamespace + ":" + managerName
	user, err := c.AddUser(name, "system:serviceaccounts", "system:serviceaccounts:"+SystemNamespace, "system:authenticated")
	if err != nil {
		return err
	}
	rights, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	if err := c.AwaitRights(rights, name); err != nil {
		return err
	}
	if err := controlplane.WriteKubeconfig(c.managerFile("kubeconfig"), user); err != nil {
		return err
	}
	config := map[string]any{}
	if err := yaml.Unmarshal([]byte(shipped), &config); err != nil {
		return fmt.Errorf("the shipped configuration: %w", err)
	}
	here := map[string]any{
		"healthBindAddress":  "0",
		"metricsBindAddress": "0",
		"webhooks":           map[string]any{"bindAddress": fmt.Sprintf("127.0.0.1:%d", port)},
		// One process: another one's lease need not be waited for after a kill.
		"leaderElection": map[string]any{"leaderElect": false},
		"touch":          map[string]any{"interval": "50ms"},
		"rebalance":      map[string]any{"settleTime": "1s", "backoff": "2s"},
	}
	merge(config, here)
	merge(config, settings)
	content, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.managerFile("yaml"), content, 0o600); err != nil {
		return err
	}
	if err := c.StartManager(); err != nil {
		return err
	}
	return c.awaitWebhook(ctx)
}

func (c *Cluster) managerFile(extension string) string {
	return filepath.Join(c.folder, managerName+"."+extension)
}

// StartManager starts the process again after StopManager, as it was installed.
func (c *Cluster) StartManager() error {
	var err error
	c.manager, err = startChild(managerName, c.managerFile("log"), nil, filepath.Join(c.options.Root, "bin", managerName),
		"--config="+c.managerFile("yaml"), "--kubeconfig="+c.managerFile("kubeconfig"))
	return err
}

// StopManager ends the process; its objects stay. The webhook does not answer from then on.
func (c *Cluster) StopManager() error {
	err := c.manager.stop()
	c.manager = nil
	return err
}

// RemoveWebhook takes away the webhook, and leaves the controllers at work.
func (c *Cluster) RemoveWebhook(ctx context.Context) error {
	return c.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(ctx, "evenkeel-workload-manager", metav1.DeleteOptions{})
}

// awaitWebhook waits until the API server gets answers: the manager has published its certificates.
func (c *Cluster) awaitWebhook(ctx context.Context) error {
	return c.await(ctx, "workload-manager to publish its certificates", func(ctx context.Context) (bool, error) {
		configuration, err := c.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, "evenkeel-workload-manager", metav1.GetOptions{})
		return err == nil && published(configuration), err
	})
}

func published(configuration *admissionregistrationv1.MutatingWebhookConfiguration) bool {
	for i := range configuration.Webhooks {
		if len(configuration.Webhooks[i].ClientConfig.CABundle) == 0 {
			return false
		}
	}
	return true
}

// merge puts settings over others, key by key.
func merge(under, over map[string]any) {
	for key, value := range over {
		inner, isObject := value.(map[string]any)
		target, both := under[key].(map[string]any)
		if isObject && both {
			merge(target, inner)
			continue
		}
		under[key] = value
	}
}

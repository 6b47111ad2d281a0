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
	"io"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// InstallWebhooks applies the admission configuration in manifests, and the Secrets in them, so that the API server
// reaches a process on this machine: each Service that a webhook names becomes a name for localhost, with the port that
// the process listens on. Everything else in the files is left out. The Services' namespaces must exist. What was
// installed before is brought up to the files again.
func (cp *ControlPlane) InstallWebhooks(ctx context.Context, port int, paths ...string) error {
	hub, err := client.New(cp.Config(), client.Options{})
	if err != nil {
		return fmt.Errorf("install webhooks: %w", err)
	}
	for _, path := range paths {
		objects, err := readObjects(path)
		if err != nil {
			return fmt.Errorf("install webhooks: %w", err)
		}
		for _, object := range admissionObjects(objects, port) {
			if err := put(ctx, hub, object); err != nil {
				return fmt.Errorf("install webhooks of %s: %w", path, err)
			}
		}
	}
	return nil
}

func readObjects(path string) ([]*unstructured.Unstructured, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	decoder := yaml.NewYAMLToJSONDecoder(file)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// admissionObjects picks what InstallWebhooks applies. Services come first.
func admissionObjects(objects []*unstructured.Unstructured, port int) []*unstructured.Unstructured {
	var services, others []*unstructured.Unstructured
	known := map[client.ObjectKey]bool{}
	for _, object := range objects {
		switch object.GetKind() {
		case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
			for _, key := range redirect(object, port) {
				if !known[key] {
					known[key] = true
					services = append(services, localService(key))
				}
			}
		case "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "Secret":
		default:
			continue
		}
		others = append(others, object)
	}
	return append(services, others...)
}

// redirect sets the port in each webhook of a configuration, and gives the Services that they name.
func redirect(configuration *unstructured.Unstructured, port int) []client.ObjectKey {
	var services []client.ObjectKey
	webhooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
	for _, webhook := range webhooks {
		fields, _ := webhook.(map[string]any)
		service, found, _ := unstructured.NestedMap(fields, "clientConfig", "service")
		if !found {
			continue
		}
		service["port"] = int64(port)
		_ = unstructured.SetNestedMap(fields, service, "clientConfig", "service") // it was just read there
		namespace, _ := service["namespace"].(string)
		name, _ := service["name"].(string)
		services = append(services, client.ObjectKey{Namespace: namespace, Name: name})
	}
	if webhooks != nil {
		configuration.Object["webhooks"] = webhooks
	}
	return services
}

// localService stands for a Service whose pods run on this machine. EndpointSlices refuse loopback addresses.
func localService(key client.ObjectKey) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "Service",
		"metadata":   map[string]any{"namespace": key.Namespace, "name": key.Name},
		"spec":       map[string]any{"type": "ExternalName", "externalName": "localhost"},
	}}
}

// put creates an object, or replaces it. The data of a Secret stays.
func put(ctx context.Context, hub client.Client, object *unstructured.Unstructured) error {
	err := hub.Create(ctx, object.DeepCopy())
	if !apierrors.IsAlreadyExists(err) || object.GetKind() == "Secret" {
		return client.IgnoreAlreadyExists(err)
	}
	// The program that the webhooks lead to writes its authority into the same objects.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found := object.DeepCopy()
		if err := hub.Get(ctx, client.ObjectKeyFromObject(object), found); err != nil {
			return err
		}
		object.SetResourceVersion(found.GetResourceVersion())
		return hub.Update(ctx, object)
	})
}

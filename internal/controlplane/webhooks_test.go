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
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const webhookManifest = `# A comment alone makes no object.
---
apiVersion: v1
kind: Service
metadata: {name: hooks, namespace: system}
spec: {selector: {app: hooks}}
---
apiVersion: v1
kind: Secret
metadata: {name: hooks, namespace: system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: ours}
webhooks:
  - name: a.example.com
    clientConfig: {service: {name: hooks, namespace: system, port: 443, path: /a}}
  - name: b.example.com
    clientConfig: {service: {name: hooks, namespace: system, port: 443, path: /b}}
  - name: c.example.com
    clientConfig: {url: "https://elsewhere.example.com"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: ours}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: hooks, namespace: system}
`

func TestAdmissionObjects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "webhooks.yaml")
	require.NoError(t, os.WriteFile(path, []byte(webhookManifest), 0o600))
	objects, err := readObjects(path)
	require.NoError(t, err)
	require.Len(t, objects, 5)
	picked := admissionObjects(objects, 12345)

	var kinds []string
	for _, o := range picked {
		kinds = append(kinds, o.GetKind())
	}
	assert.Equal(t, []string{"Service", "Secret", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy"}, kinds)
	assert.Equal(t, localService(client.ObjectKey{Namespace: "system", Name: "hooks"}), picked[0], "one that leads to this machine stands for the shipped one")
	webhooks, _, err := unstructured.NestedSlice(picked[2].Object, "webhooks")
	require.NoError(t, err)
	require.Len(t, webhooks, 3)
	for i, want := range []any{int64(12345), int64(12345), nil} {
		port, _, err := unstructured.NestedFieldNoCopy(webhooks[i].(map[string]any), "clientConfig", "service", "port")
		require.NoError(t, err)
		assert.Equal(t, want, port)
	}
}

func TestReadObjectsTellsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(path, []byte("a: [\n"), 0o600))
	_, err := readObjects(path)
	assert.ErrorContains(t, err, path)
	_, err = readObjects(path + ".missing")
	assert.ErrorContains(t, err, "bad.yaml.missing")
}

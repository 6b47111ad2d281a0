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

package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// maxFile bounds what is read of a file, in bytes.
const maxFile = 64 << 20

// readObjects decodes the objects of a file. Those with a namespace that name none get the given one.
func readObjects(in io.Reader, file, namespace string) ([]client.Object, error) {
	if file == "" {
		return nil, fmt.Errorf("name the file with -f; -f - reads standard input")
	}
	content, err := readFile(in, file)
	if err != nil {
		return nil, err
	}
	objects, err := decodeObjects(content, namespace)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%s has no objects", file)
	}
	return objects, nil
}

func readFile(in io.Reader, file string) ([]byte, error) {
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		in = opened
	}
	content, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(content) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", file, maxFile>>20)
	}
	return content, err
}

func decodeObjects(content []byte, namespace string) ([]client.Object, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(evenkeel.AddToScheme(scheme))
	utilruntime.Must(modelplane.AddToScheme(scheme))
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var objects []client.Object
	reader := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for number := 1; ; number++ {
		raw := runtime.RawExtension{}
		if err := reader.Decode(&raw); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("object %d: %w", number, err)
		}
		if len(bytes.TrimSpace(raw.Raw)) == 0 || string(raw.Raw) == "null" {
			continue
		}
		decoded, _, err := decoder.Decode(raw.Raw, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			return nil, fmt.Errorf("object %d: a plan takes ModelDeployments, InferenceClusters and DisruptionPolicies: %w", number, err)
		}
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", number, err)
		}
		object, ok := decoded.(client.Object)
		if !ok || object.GetName() == "" {
			return nil, fmt.Errorf("object %d (%T) has no name", number, decoded)
		}
		if _, clusterWide := object.(*modelplane.InferenceCluster); !clusterWide && object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		objects = append(objects, object)
	}
}

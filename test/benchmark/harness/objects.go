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
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// writers is how many objects are written at a time: enough to keep an API server
// busy.
const writers = 32

// InParallel calls write for 0 to count-1, in this order but many at a time, and
// returns the first error.
func InParallel(ctx context.Context, count int, write func(context.Context, int) error) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range count {
		group.Go(func() error {
			if err := groupCtx.Err(); err != nil {
				return err
			}
			return write(groupCtx, i)
		})
	}
	return group.Wait()
}

// CreateAll creates every object of a YAML file.
func CreateAll(ctx context.Context, c client.Client, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("create what a manifest says: %w", err)
	}
	defer func() { _ = file.Close() }()
	const bufferSize = 4096 // to tell YAML from JSON
	documents := yaml.NewYAMLOrJSONDecoder(file, bufferSize)
	for {
		object := &unstructured.Unstructured{}
		err := documents.Decode(object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if err := c.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s %s of %s: %w", object.GetKind(), object.GetName(), path, err)
		}
	}
}

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

package cli

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Client makes a client for any kind. It prints the API server's warnings and, since the
// plugin makes few requests, does not hold them back.
func (f *Factory) Client() (dynamic.Interface, error) {
	config, err := f.clientConfig()
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

func (f *Factory) clientConfig() (*rest.Config, error) {
	config, err := f.RESTConfig()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandler = rest.NewWarningWriter(f.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	return config, nil
}

// Get reads one object into its type.
func Get[T any](ctx context.Context, c dynamic.ResourceInterface, name string) (*T, error) {
	u, err := c.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	object := new(T)
	return object, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, object)
}

// pageSize is how many objects are asked for at once.
const pageSize = 500

// List reads all objects that match into their type.
func List[T any](ctx context.Context, c dynamic.ResourceInterface, options metav1.ListOptions) ([]T, error) {
	var objects []T
	options.Limit = pageSize
	for {
		page, err := c.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			object := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(page.Items[i].Object, object); err != nil {
				return nil, fmt.Errorf("%s %s/%s: %w", page.Items[i].GetKind(), page.Items[i].GetNamespace(), page.Items[i].GetName(), err)
			}
			objects = append(objects, *object)
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return objects, nil
		}
	}
}

// NotServed tells the absence of a kind from the absence of one object.
func NotServed(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
}

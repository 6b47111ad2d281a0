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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Client asks an API server about objects of any kind. Lists, which may be long, are read with List.
type Client struct {
	dynamic.Interface
	reader rest.Interface
}

// Client makes a client. It prints the API server's warnings and, since the plugin makes few
// requests, does not hold them back.
func (f *Factory) Client() (*Client, error) {
	config, err := f.RESTConfig()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NewWarningWriter(f.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	return NewClient(config)
}

// NewClient makes a client whose requests are not held back.
func NewClient(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion() // for what the API server says of errors
	connections, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfigAndClient(config, connections)
	if err != nil {
		return nil, err
	}
	reader, err := rest.UnversionedRESTClientForConfigAndClient(config, connections)
	if err != nil {
		return nil, err
	}
	return &Client{Interface: objects, reader: reader}, nil
}

// Get reads one object into its type. Namespace is empty for kinds that have none.
func Get[T any](ctx context.Context, c dynamic.Interface, resource schema.GroupVersionResource, namespace, name string) (*T, error) {
	var objects dynamic.ResourceInterface = c.Resource(resource)
	if namespace != "" {
		objects = c.Resource(resource).Namespace(namespace)
	}
	u, err := objects.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, withResource(err, resource)
	}
	object := new(T)
	return object, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, object)
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

// notServed says which kind an API server does not serve. It does not say so itself: to it this is a path that leads nowhere.
type notServed struct {
	error
	resource schema.GroupResource
}

func (e *notServed) Unwrap() error { return e.error }

func withResource(err error, resource schema.GroupVersionResource) error {
	if !NotServed(err) {
		return err
	}
	return &notServed{error: err, resource: resource.GroupResource()}
}

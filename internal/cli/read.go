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
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kjson "sigs.k8s.io/json"
)

// Reader makes a client for ReadAll.
func (f *Factory) Reader() (rest.Interface, error) {
	config, err := f.clientConfig()
	if err != nil {
		return nil, err
	}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion() // for what the API server says of errors
	return rest.UnversionedRESTClientFor(config)
}

// page is one part of a list.
type page[T any] struct {
	Items []T `json:"items"`
}

// ReadAll lists all objects of a group's kind, of all namespaces, whose labels match. It is for lists that may be long: the
// answers are decoded once, into their type, while the next ones are on their way.
func ReadAll[T any](ctx context.Context, reader rest.Interface, resource schema.GroupVersionResource, selector string) ([]T, error) {
	var pages []*page[T]
	decoding, ctx := errgroup.WithContext(ctx)
	fetch := func() error {
		for next := ""; ; {
			answer := reader.Get().AbsPath("apis", resource.Group, resource.Version, resource.Resource).
				Param("limit", strconv.Itoa(pageSize)).Param("continue", next).Param("labelSelector", selector).Do(ctx)
			if err := answer.Error(); err != nil { // it has what the API server says, which Raw has not
				return err
			}
			content, err := answer.Raw()
			if err != nil {
				return err
			}
			head := struct {
				Metadata metav1.ListMeta `json:"metadata"`
			}{}
			if err := kjson.UnmarshalCaseSensitivePreserveInts(content, &head); err != nil {
				return fmt.Errorf("decode a list of %s: %w", resource.Resource, err)
			}
			decoded := &page[T]{}
			pages = append(pages, decoded)
			decoding.Go(func() error {
				if err := kjson.UnmarshalCaseSensitivePreserveInts(content, decoded); err != nil {
					return fmt.Errorf("decode a list of %s: %w", resource.Resource, err)
				}
				return nil
			})
			if next = head.Metadata.Continue; next == "" {
				return nil
			}
		}
	}
	failed := fetch()
	// What cannot be decoded ends the fetching too, and is then the reason.
	if err := decoding.Wait(); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	var all []T
	for _, p := range pages {
		all = append(all, p.Items...)
	}
	return all, nil
}

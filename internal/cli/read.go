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
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// List reads all objects that match, of a namespace or, where it is empty, of all. Of the options it takes the selectors.
//
// It asks for the whole list at once, which the API server has in its cache: parts of it have been seen to take several times as
// long. Objects are decoded as they arrive, into their type.
func List[T any](ctx context.Context, c *Client, resource schema.GroupVersionResource, namespace string, options metav1.ListOptions) ([]T, error) {
	var all []T
	for next := ""; ; {
		stream, err := c.listRequest(resource, namespace, options, next).Stream(ctx)
		if err != nil {
			return nil, withResource(err, resource)
		}
		all, next, err = decodeList(stream, all)
		_ = stream.Close() // it was only read
		if err != nil {
			return nil, fmt.Errorf("decode a list of %s: %w", resource.Resource, err)
		}
		if next == "" { // a server that gives parts all the same says how to go on
			return all, nil
		}
	}
}

func (c *Client) listRequest(resource schema.GroupVersionResource, namespace string, options metav1.ListOptions, next string) *rest.Request {
	path := []string{"apis", resource.Group, resource.Version}
	if resource.Group == "" {
		path = []string{"api", resource.Version}
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	request := c.reader.Get().AbsPath(append(path, resource.Resource)...)
	for name, value := range map[string]string{"labelSelector": options.LabelSelector, "fieldSelector": options.FieldSelector, "continue": next} {
		if value != "" {
			request.Param(name, value)
		}
	}
	return request
}

// decodeList appends the items of a list to others, and gives the token by which to go on, if there are more.
func decodeList[T any](content io.Reader, all []T) ([]T, string, error) {
	decoder := json.NewDecoder(content)
	if err := expect(decoder, '{'); err != nil {
		return all, "", err
	}
	var metadata metav1.ListMeta
	for decoder.More() {
		field, err := decoder.Token()
		switch field {
		case "metadata":
			err = decoder.Decode(&metadata)
		case "items":
			all, err = decodeItems(decoder, all)
		default:
			if err == nil {
				var unused json.RawMessage
				err = decoder.Decode(&unused)
			}
		}
		if err != nil {
			return all, "", err
		}
	}
	return all, metadata.Continue, expect(decoder, '}')
}

func decodeItems[T any](decoder *json.Decoder, all []T) ([]T, error) {
	begin, err := decoder.Token()
	if err != nil || begin == nil { // null is an empty list
		return all, err
	}
	if begin != json.Delim('[') {
		return all, fmt.Errorf("items is %v, not a list", begin)
	}
	for decoder.More() {
		var item T
		if err := decoder.Decode(&item); err != nil {
			return all, err
		}
		all = append(all, item)
	}
	return all, expect(decoder, ']')
}

// expect reads a bracket.
func expect(decoder *json.Decoder, bracket json.Delim) error {
	token, err := decoder.Token()
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	case token != bracket:
		return fmt.Errorf("%v where %v belongs", token, bracket)
	}
	return nil
}

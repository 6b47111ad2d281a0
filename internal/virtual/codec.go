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

package virtual

import (
	"encoding/json"

	"k8s.io/utils/lru"
)

// parsedLimit bounds how many distinct values of one annotation are kept parsed. A fleet has far fewer: clusters of
// one kind publish the same pools, and the replicas of a deployment have the same requirements.
const parsedLimit = 4096

// codec encodes values of one annotation and parses them back. Both directions are cached by the encoded text: equal
// texts share one string, and equal texts share one parsed value, which nobody may change. It is safe for concurrent
// use.
type codec[T any] struct {
	texts  *lru.Cache
	parsed *lru.Cache
	// parse makes of a text what is handed out.
	parse func(text string) (T, error)
}

type parseResult[T any] struct {
	value T
	err   error
}

func newCodec[T any](parse func(text string) (T, error)) *codec[T] {
	return &codec[T]{texts: lru.New(parsedLimit), parsed: lru.New(parsedLimit), parse: parse}
}

// encode returns the canonical JSON of a value of plain data, which always has one.
func (c *codec[T]) encode(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		// Only a cyclic value or a type without JSON gets here; neither occurs in the API types. An empty text parses
		// to an error, which the reader reports.
		return ""
	}
	if known, ok := c.texts.Get(string(raw)); ok {
		return known.(string)
	}
	text := string(raw)
	c.texts.Add(text, text)
	return text
}

// decode parses a text, or returns what an earlier call made of the same text.
func (c *codec[T]) decode(text string) (T, error) {
	if known, ok := c.parsed.Get(text); ok {
		result := known.(parseResult[T])
		return result.value, result.err
	}
	value, err := c.parse(text)
	c.parsed.Add(text, parseResult[T]{value: value, err: err})
	return value, err
}

func parseJSON[T any](text string) (*T, error) {
	value := new(T)
	if err := json.Unmarshal([]byte(text), value); err != nil {
		return nil, err
	}
	return value, nil
}

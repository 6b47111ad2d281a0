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

package servingpath

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
)

// MatchCondition gives the CEL expression by which an API server calls the webhook for objects of a kind that may
// belong to a component, and for nothing else. Objects that opt out are not sent either.
func (c *Catalogue) MatchCondition(kind configapi.ComponentKind) string {
	var either []string
	for _, component := range c.components {
		if slices.Contains(component.Match.Kinds, kind) && component.fills() {
			either = append(either, component.condition())
		}
	}
	if len(either) == 0 {
		return "false"
	}
	optOut := fmt.Sprintf("!(has(object.metadata.annotations) && %s in object.metadata.annotations && object.metadata.annotations[%s] == %s)",
		quote(AnnotationServingPath), quote(AnnotationServingPath), quote(ServingPathOff))
	return optOut + " && (" + strings.Join(either, " || ") + ")"
}

// fills tells whether admission could fill in anything.
func (c *Component) fills() bool {
	return !c.Single && (c.MinReplicas != nil || c.Spread != nil || len(c.Containers) > 0 || c.Rollout != nil || c.fallback != nil)
}

func (c *Component) condition() string {
	all := []string{namespaceCondition(c.Match.Namespaces)}
	for _, key := range slices.Sorted(maps.Keys(c.Match.Labels)) {
		all = append(all, fmt.Sprintf("object.metadata.?labels[?%s].orValue('') == %s", quote(key), quote(c.Match.Labels[key])))
	}
	if c.Match.Expression != "" {
		all = append(all, "("+c.Match.Expression+")")
	}
	return "(" + strings.Join(all, " && ") + ")"
}

func namespaceCondition(patterns []string) string {
	var either []string
	for _, pattern := range patterns {
		switch {
		case pattern == "*":
			return "true"
		case strings.ContainsAny(pattern, "*?[\\"):
			// Called for a little too much at worst: the handler judges by the whole pattern.
			prefix := pattern[:strings.IndexAny(pattern, "*?[\\")]
			either = append(either, fmt.Sprintf("request.namespace.startsWith(%s)", quote(prefix)))
		default:
			either = append(either, fmt.Sprintf("request.namespace == %s", quote(pattern)))
		}
	}
	return "(" + strings.Join(either, " || ") + ")"
}

func quote(text string) string {
	return strconv.Quote(text)
}

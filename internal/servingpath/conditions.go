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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
)

// Calls says for which objects of a kind an API server calls the webhook: for those that may belong to a component, and
// for nothing else. It looks at the selectors first, and spares itself the conversion of an object that a condition asks
// about if one of them does not hold. The condition says all by itself.
type Calls struct {
	Namespaces, Objects metav1.LabelSelector
	// Condition is a CEL expression over "object" and "request". Objects that opt out are not sent either.
	Condition string
}

// CallsFor gives them for a kind. own is the namespace of the webhook's server, which must come up without itself.
func (c *Catalogue) CallsFor(kind configapi.ComponentKind, own string) Calls {
	var filled []*Component
	for _, component := range c.components {
		if slices.Contains(component.Match.Kinds, kind) && component.fills() {
			filled = append(filled, component)
		}
	}
	return Calls{
		Namespaces: metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{namespaceRequirement(filled, own)}},
		Objects:    objectSelector(filled, kind),
		Condition:  condition(filled),
	}
}

// namespaceRequirement names the namespaces of components. A selector cannot say what patterns mean: with one among them
// it names only the namespace that is left out.
func namespaceRequirement(components []*Component, own string) metav1.LabelSelectorRequirement {
	named := map[string]bool{}
	for _, component := range components {
		for _, pattern := range component.Match.Namespaces {
			if isPattern(pattern) {
				return metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{own}}
			}
			named[pattern] = true
		}
	}
	delete(named, own)
	if len(named) == 0 {
		// Each namespace has this label, so that none is selected.
		return metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpDoesNotExist}
	}
	return metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: slices.Sorted(maps.Keys(named))}
}

// objectSelector selects by the labels that all components ask for, and never engines.
func objectSelector(components []*Component, kind configapi.ComponentKind) metav1.LabelSelector {
	var selector metav1.LabelSelector
	if len(components) == 0 {
		return selector
	}
	common := maps.Clone(components[0].Match.Labels)
	for _, component := range components[1:] {
		maps.DeleteFunc(common, func(key, value string) bool {
			other, ok := component.Match.Labels[key]
			return !ok || other != value
		})
	}
	if len(common) > 0 {
		selector.MatchLabels = common
	}
	if kind == configapi.ComponentEnvoyProxy {
		return selector
	}
	for _, key := range engineLabels {
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpDoesNotExist})
	}
	return selector
}

func condition(components []*Component) string {
	if len(components) == 0 {
		return "false"
	}
	either := make([]string, 0, len(components))
	for _, component := range components {
		either = append(either, component.condition())
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
		case isPattern(pattern):
			// Called for a little too much at worst: the handler judges by the whole pattern.
			prefix := pattern[:strings.IndexAny(pattern, configapi.PatternCharacters)]
			either = append(either, fmt.Sprintf("request.namespace.startsWith(%s)", quote(prefix)))
		default:
			either = append(either, fmt.Sprintf("request.namespace == %s", quote(pattern)))
		}
	}
	return "(" + strings.Join(either, " || ") + ")"
}

func isPattern(namespace string) bool {
	return strings.ContainsAny(namespace, configapi.PatternCharacters)
}

func quote(text string) string {
	return strconv.Quote(text)
}

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

// Where tells apart the namespaces that a webhook is about. One selector cannot say "these names, or this label", so that
// two webhooks share the namespaces of a kind whose components have patterns.
type Where int

const (
	// Everywhere is all of them.
	Everywhere Where = iota
	// Named are those that any component of the kind names.
	Named
	// Patterned are the others, which only patterns match.
	Patterned
)

// CallsFor gives them for a kind. own is the namespace of the webhook's server, which must come up without itself.
func (c *Catalogue) CallsFor(kind configapi.ComponentKind, where Where, own string) Calls {
	names := map[string]bool{}
	var all, patterned []*Component
	for _, component := range c.components {
		if !slices.Contains(component.Match.Kinds, kind) || !component.fills() {
			continue
		}
		all = append(all, component)
		for _, namespace := range component.Match.Namespaces {
			if !isPattern(namespace) {
				names[namespace] = true
			}
		}
		if slices.ContainsFunc(component.Match.Namespaces, isPattern) {
			patterned = append(patterned, component)
		}
	}
	delete(names, own)
	filled, namespaces := all, namespacesNamed(names)
	switch {
	case where == Patterned:
		names[own] = true
		filled, namespaces = patterned, others(names, patterned)
	case where == Everywhere && len(patterned) > 0:
		// A named namespace need not carry any label.
		namespaces = selectorOf(requirement(metav1.LabelSelectorOpNotIn, own))
	}
	return Calls{Namespaces: namespaces, Objects: objectSelector(filled, kind), Condition: condition(filled)}
}

// namespacesNamed selects namespaces by their names.
func namespacesNamed(names map[string]bool) metav1.LabelSelector {
	if len(names) == 0 {
		return noNamespace()
	}
	return selectorOf(requirement(metav1.LabelSelectorOpIn, slices.Sorted(maps.Keys(names))...))
}

// others selects namespaces but for some; only those with the label that all components say theirs carry.
func others(names map[string]bool, components []*Component) metav1.LabelSelector {
	if len(components) == 0 {
		return noNamespace()
	}
	selector := selectorOf(requirement(metav1.LabelSelectorOpNotIn, slices.Sorted(maps.Keys(names))...))
	label := components[0].Match.NamespaceLabel
	differs := func(c *Component) bool { return c.Match.NamespaceLabel != label }
	if label != "" && !slices.ContainsFunc(components, differs) {
		selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: label, Operator: metav1.LabelSelectorOpExists})
	}
	return selector
}

// noNamespace selects none: each has this label.
func noNamespace() metav1.LabelSelector {
	return selectorOf(requirement(metav1.LabelSelectorOpDoesNotExist))
}

func selectorOf(requirement metav1.LabelSelectorRequirement) metav1.LabelSelector {
	return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{requirement}}
}

func requirement(operator metav1.LabelSelectorOperator, names ...string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: operator, Values: names}
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

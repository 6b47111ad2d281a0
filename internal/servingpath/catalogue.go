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
	"path"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/lru"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
)

const (
	// AnnotationServingPath with the value "off" on an object keeps Evenkeel's hands off it.
	AnnotationServingPath = "evenkeel.io/serving-path"
	// ServingPathOff is that value.
	ServingPathOff = "off"
)

// engineLabels mark the pods of engines, which are never a part of what is filled in, whatever the configuration says.
var engineLabels = []string{"modelplane.ai/serving", "modelplane.ai/workload"}

// Component is one part of the serving path, ready to be matched.
type Component struct {
	configapi.ServingPathComponent
	selector   labels.Selector
	expression *expression
	fallback   *configapi.ServingPathFallback // nil where replicas may not fall back
}

// Catalogue is a configuration's components. It may be used concurrently.
type Catalogue struct {
	components []*Component
	installers []string
	fallback   *configapi.ServingPathFallback
	stored     *lru.Cache
}

// New compiles a defaulted configuration. An error names the component whose expression does not compile.
func New(config *configapi.ServingPathConfiguration) (*Catalogue, error) {
	c := &Catalogue{installers: config.Installers, fallback: &config.Fallback, stored: lru.New(remembered)}
	for i := range config.Components {
		if !*config.Components[i].Enabled {
			continue
		}
		component, err := newComponent(&config.Components[i], &config.Fallback)
		if err != nil {
			return nil, fmt.Errorf("components[%d] %q: %w", i, config.Components[i].Name, err)
		}
		c.components = append(c.components, component)
	}
	return c, nil
}

func newComponent(config *configapi.ServingPathComponent, fallback *configapi.ServingPathFallback) (*Component, error) {
	c := &Component{
		ServingPathComponent: *config.DeepCopy(),
		selector:             labels.SelectorFromSet(config.Match.Labels),
	}
	mode := fallback.Mode
	if config.Fallback != "" {
		mode = config.Fallback
	}
	if mode == configapi.FallbackGPUNodes {
		c.fallback = fallback.DeepCopy()
	}
	if config.Match.Expression == "" {
		return c, nil
	}
	var err error
	if c.expression, err = compile(config.Match.Expression); err != nil {
		return nil, fmt.Errorf("match.expression: %w", err)
	}
	return c, nil
}

// ForDeployment gives the component that a Deployment belongs to, or nil.
func (c *Catalogue) ForDeployment(d *appsv1.Deployment) *Component {
	if isEngine(d.Spec.Template.Labels) || isEngine(d.Labels) {
		return nil
	}
	return c.find(configapi.ComponentDeployment, d, d)
}

// ForPod gives the component that matches a pod as such, or nil.
func (c *Catalogue) ForPod(p *corev1.Pod) *Component {
	if isEngine(p.Labels) {
		return nil
	}
	return c.find(configapi.ComponentPod, p, p)
}

// ForEnvoyProxy gives the component that an EnvoyProxy belongs to, or nil.
func (c *Catalogue) ForEnvoyProxy(p *unstructured.Unstructured) *Component {
	return c.find(configapi.ComponentEnvoyProxy, p, p)
}

// Off tells whether an object's owner does not want it to be touched.
func Off(o metav1.Object) bool {
	return o.GetAnnotations()[AnnotationServingPath] == ServingPathOff
}

// Has tells whether any enabled component is about a kind.
func (c *Catalogue) Has(kind configapi.ComponentKind) bool {
	return slices.ContainsFunc(c.components, func(component *Component) bool {
		return slices.Contains(component.Match.Kinds, kind)
	})
}

func (c *Catalogue) find(kind configapi.ComponentKind, meta metav1.Object, object any) *Component {
	var content map[string]any // converted once, and only if an expression asks
	for _, component := range c.components {
		m := &component.Match
		if !slices.Contains(m.Kinds, kind) || !globs(m.Namespaces, meta.GetNamespace()) ||
			!component.selector.Matches(labels.Set(meta.GetLabels())) {
			continue
		}
		if component.expression == nil {
			return component
		}
		if content == nil {
			content = toContent(object)
		}
		if component.expression.holds(content) {
			return component
		}
	}
	return nil
}

func isEngine(set map[string]string) bool {
	return slices.ContainsFunc(engineLabels, func(key string) bool { _, ok := set[key]; return ok })
}

// globs tells whether a text is matched by one of the patterns, in which "*" stands for any text. Namespaces and field
// managers seldom have a slash, which path.Match would not let "*" stand for, so that it is put away.
func globs(patterns []string, text string) bool {
	text = withoutSlash(text)
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(withoutSlash(pattern), text)
		return err == nil && ok
	})
}

func withoutSlash(text string) string {
	b := []byte(text)
	for i := range b {
		if b[i] == '/' {
			b[i] = ':'
		}
	}
	return string(b)
}

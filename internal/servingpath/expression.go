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
	"sync"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// expression is a compiled CEL expression over "object". Webhook match conditions know the same variable, so that one
// text serves both.
type expression struct {
	program cel.Program
}

var celEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: environment.DefaultCompatibilityVersion(),
		EnvOptions:        []cel.EnvOption{cel.Variable("object", cel.DynType)},
	})
	if err != nil {
		return nil, err
	}
	return set.Env(environment.StoredExpressions)
})

func compile(text string) (*expression, error) {
	env, err := celEnvironment()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, err
	}
	if t := ast.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("it must be a bool, not %s", t)
	}
	program, err := env.Program(ast, cel.CostLimit(apiservercel.PerCallLimit))
	if err != nil {
		return nil, err
	}
	return &expression{program: program}, nil
}

// holds tells whether it is true. A field that is missing, or too much work, is no match.
func (e *expression) holds(content map[string]any) bool {
	result, _, err := e.program.Eval(map[string]any{"object": content})
	if err != nil {
		return false
	}
	is, ok := result.Value().(bool)
	return ok && is
}

// toContent gives an object as expressions see it.
func toContent(object any) map[string]any {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u.Object
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return map[string]any{} // nothing holds of it
	}
	return content
}

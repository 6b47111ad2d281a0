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

package placement

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	resourceapi "k8s.io/api/resource/v1"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	dracel "k8s.io/dynamic-resource-allocation/cel"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/text"
)

const (
	maxShownExpression = 160
	maxShownError      = 512
)

// InvalidSelectorError tells of a device selector that does not compile. It is the only fault of a selector that its
// author is told of: one that fails on a device merely does not match it.
type InvalidSelectorError struct {
	// Engine that the selector belongs to.
	Engine string
	// Member is the position of the engine's member.
	Member int
	// Request is the name of the device request.
	Request string
	// Selector is the position of the selector in the request.
	Selector int
	// Expression that does not compile, whole.
	Expression string
	// Err is CEL's message, at most 512 bytes.
	Err error
}

func (e *InvalidSelectorError) Error() string {
	return fmt.Sprintf("engine %q, member %d, device request %q, selector %d: %q: %v",
		e.Engine, e.Member, e.Request, e.Selector, bounded(e.Expression, maxShownExpression), e.Err)
}

// Unwrap gives CEL's message.
func (e *InvalidSelectorError) Unwrap() error { return e.Err }

// Validate compiles every selector and returns an *InvalidSelectorError for the first that does not compile.
func (m *Matcher) Validate(engines []evenkeel.EngineRequirements) error {
	_, err := m.PrepareEngines(engines)
	return err
}

// compiler is the part of upstream's compiler that is used here; its type is not exported.
type compiler interface {
	CompileCELExpression(expression string, options dracel.Options) dracel.CompilationResult
}

// newCompiler gives the compiler with which the allocator of a workload cluster would evaluate the same selector.
// Consumable capacity is on since device.allowMultipleAllocations must compile.
func newCompiler() compiler {
	return dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true})
}

// program is a compiled selector, or the error that it has instead.
type program struct {
	compiled dracel.CompilationResult
	err      error
}

func (m *Matcher) program(expression string) *program {
	if known, ok := m.programs.get(expression); ok {
		return known
	}
	compiled, err := compile(m.compiler, expression)
	if err != nil {
		err = errors.New(bounded(err.Error(), maxShownError))
	}
	p := &program{compiled: compiled, err: err}
	m.programs.put(expression, p, 1+len(expression)/expressionWeight)
	return p
}

// compile gives upstream's result with a program of our own in it, which differs in how it reads quantities and does not
// make calls that would take too long.
//
// The estimated cost is not asked for: an expensive selector is not an error in Modelplane, and upstream's estimate is
// beyond all bounds for so plain a thing as quantities that are compared with !=. What evaluation really costs is
// limited.
func compile(c compiler, expression string) (dracel.CompilationResult, error) {
	if err := boundRepetitions(c, expression); err != nil {
		return dracel.CompilationResult{}, err
	}
	result := c.CompileCELExpression(expression, dracel.Options{DisableCostEstimation: true})
	if result.Error != nil {
		return result, errors.New(result.Error.Detail)
	}
	checked, issues := result.Environment.Compile(expression)
	if err := issues.Err(); err != nil {
		return result, err
	}
	var err error
	result.Program, err = result.Environment.Program(checked,
		cel.CostLimit(resourceapi.CELSelectorExpressionMaxCost),
		cel.InterruptCheckFrequency(celconfig.CheckFrequency),
		cel.CustomDecorator(guard(result.Environment)),
		cel.CustomDecorator(boundQuantities),
	)
	return result, err
}

// matches tells whether a device satisfies the selector, and takes what that costs off the budget. Any error, any result
// that is not a boolean, and a spent budget is a no.
func (p *program) matches(d *device, budget *uint64) bool {
	if p.err != nil || d.malformed || *budget == 0 {
		return false
	}
	matched, details, err := p.compiled.DeviceMatches(context.Background(), d.input())
	if details != nil {
		if cost := details.ActualCost(); cost != nil {
			*budget -= min(*budget, *cost)
		}
	}
	return err == nil && matched
}

// bounded cuts a text to at most n bytes, not within a character, and makes it valid UTF-8.
func bounded(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	const ellipsis = "..."
	return text.Prefix(s, n-len(ellipsis)) + ellipsis
}

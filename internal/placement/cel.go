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
	"unicode/utf8"

	dracel "k8s.io/dynamic-resource-allocation/cel"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
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
	// The estimated cost is not asked for, since an expensive selector is not an error: evaluation stops at the runtime
	// limit, which is on by default, and then does not match.
	p := &program{compiled: m.compiler.CompileCELExpression(expression, dracel.Options{DisableCostEstimation: true})}
	if p.compiled.Error != nil {
		p.err = errors.New(bounded(p.compiled.Error.Detail, maxShownError))
	}
	m.programs.put(expression, p, 1+len(expression)/expressionWeight)
	return p
}

// matches tells whether a device satisfies the selector. Any error, and any result that is not a boolean, is a no.
func (p *program) matches(d *device) bool {
	if p.err != nil || d.malformed {
		return false
	}
	matched, _, err := p.compiled.DeviceMatches(context.Background(), d.input())
	return err == nil && matched
}

// bounded cuts text to at most n bytes, not within a character, and makes it valid UTF-8.
func bounded(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	const ellipsis = "..."
	end := n - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

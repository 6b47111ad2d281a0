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
	"fmt"
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// CEL counts what a call costs when the call is over, so that its limit does not hold back a single call that takes
// minutes or gigabytes: a range of a billion numbers, a text that is put between the letters of another again and again,
// two lists that share their parts and are compared part by part. So what a call is given is measured before it is made.
const (
	// maxArgument is the size of one argument: the longest expression, and more than any device publishes.
	maxArgument = 16 << 10
	// maxCall is the product of the sizes of all arguments of one call.
	maxCall = 1 << 20
	// elementSize is what an element of a list or a map adds to its size besides its own.
	elementSize = 8
	// repetitionFactor is what a counted repetition may add to the size of a regular expression: of each character of
	// a{1000} the program that matches it has more than a hundred steps.
	repetitionFactor = 128
)

// longPrecision finds a format that asks for thousands of digits.
var longPrecision = regexp.MustCompile(`%\.[0-9]{4,}`)

// guard makes the decorator that measures the arguments of calls before they are made. The functions are those of the
// environment that the expression was compiled in.
func guard(environment *cel.Env) interpreter.InterpretableDecorator {
	known := environment.Functions()
	return func(step interpreter.Interpretable) (interpreter.Interpretable, error) {
		call, ok := step.(interpreter.InterpretableCall)
		if !ok {
			return step, nil
		}
		switch call.Function() {
		case operators.Equals:
			return guarded(call, call.Args(), func(args ...ref.Val) ref.Val { return types.Equal(args[0], args[1]) }), nil
		case operators.NotEquals:
			return guarded(call, call.Args(), func(args ...ref.Val) ref.Val { return types.Bool(types.Equal(args[0], args[1]) != types.True) }), nil
		}
		function := known[call.Function()]
		if function == nil {
			return step, nil
		}
		overloads, err := function.Bindings()
		if err != nil {
			return nil, err
		}
		overload := overloadOf(overloads, call)
		if overload == nil || overload.NonStrict {
			return step, nil
		}
		return guarded(call, boundPatternArgs(call), func(args ...ref.Val) ref.Val { return invoke(call, overload, args) }), nil
	}
}

func guarded(call interpreter.InterpretableCall, args []interpreter.Interpretable, function functions.FunctionOp) interpreter.Interpretable {
	name := call.Function()
	return interpreter.NewCall(call.ID(), name, call.OverloadID(), args, func(values ...ref.Val) ref.Val {
		measure(name, values)
		return function(values...)
	})
}

// overloadOf finds what the planner has found: the function for these types, or the one that looks at its arguments.
func overloadOf(overloads []*functions.Overload, call interpreter.InterpretableCall) *functions.Overload {
	var byName *functions.Overload
	for _, overload := range overloads {
		switch overload.Operator {
		case call.OverloadID():
			return overload
		case call.Function():
			byName = overload
		}
	}
	return byName
}

// invoke calls a function as the interpreter does, methods of the first argument included.
func invoke(call interpreter.InterpretableCall, overload *functions.Overload, args []ref.Val) ref.Val {
	applies := len(args) > 0 && (overload.OperandTrait == 0 || args[0].Type().HasTrait(overload.OperandTrait))
	switch {
	case applies && len(args) == 1 && overload.Unary != nil:
		return overload.Unary(args[0])
	case applies && len(args) == 2 && overload.Binary != nil:
		return overload.Binary(args[0], args[1])
	case (applies || len(args) == 0) && overload.Function != nil:
		return overload.Function(args...)
	}
	if len(args) > 0 {
		if receiver, ok := args[0].(traits.Receiver); ok {
			return receiver.Receive(call.Function(), call.OverloadID(), args[1:])
		}
	}
	return types.NewErr("no such overload: %s", call.Function())
}

// measure ends the evaluation when a call would take too much. It panics as CEL's own limit does, since an expression can
// go on after a mere error.
func measure(function string, args []ref.Val) {
	product := 1
	for i, arg := range args {
		size := sizeFor(function, i, arg)
		if size > maxArgument {
			refuse(function, "argument %d is too large", i+1)
		}
		if product *= max(size, 1); product > maxCall && !linear(function) {
			refuse(function, "its arguments are too large together")
		}
	}
}

func sizeFor(function string, position int, arg ref.Val) int {
	switch {
	case function == operators.Add:
		return shallowSize(arg)
	case function == "lists.range":
		n, ok := arg.(types.Int)
		if !ok || n < 0 {
			return 1
		}
		return int(min(n, maxArgument)) * elementSize
	case function == "format" && position == 0 && isText(arg, longPrecision.MatchString):
		return maxArgument + 1
	case function == "distinct":
		size := sizeOf(arg)
		return size * size * maxArgument / maxCall
	case takesPattern(function) && position == 1:
		return patternSize(arg)
	default:
		return sizeOf(arg)
	}
}

func refuse(function, format string, args ...any) {
	panic(interpreter.EvalCancelledError{
		Message: fmt.Sprintf("the call of %s is not made: %s", strings.Trim(function, "_"), fmt.Sprintf(format, args...)),
		Cause:   interpreter.CostLimitExceeded,
	})
}

// linear tells of the operators that take no longer than their arguments are large together. What an operator makes is
// measured when it is the next one's argument.
func linear(function string) bool {
	switch function {
	case operators.Equals, operators.NotEquals, operators.Add, operators.In, operators.OldIn,
		operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return true
	}
	return false
}

// sizeOf measures a value, its parts as often as they occur in it, and stops soon above maxArgument.
func sizeOf(value ref.Val) int {
	left := maxArgument
	take(value, &left)
	return maxArgument - left
}

// take subtracts the size of a value until less than nothing is left.
func take(value ref.Val, left *int) {
	switch v := value.(type) {
	case types.String:
		*left -= len(v) + 1
	case types.Bytes:
		*left -= len(v) + 1
	case traits.Mapper:
		for i := v.Iterator(); *left >= 0 && i.HasNext() == types.True; {
			key := i.Next()
			*left -= elementSize
			take(key, left)
			if entry, found := v.Find(key); found {
				take(entry, left)
			}
		}
	case traits.Lister:
		for i := v.Iterator(); *left >= 0 && i.HasNext() == types.True; {
			*left -= elementSize
			take(i.Next(), left)
		}
	default:
		*left--
	}
}

// shallowSize does not look into elements.
func shallowSize(value ref.Val) int {
	list, ok := value.(traits.Lister)
	if !ok {
		return sizeOf(value)
	}
	n, ok := list.Size().(types.Int)
	if !ok {
		return 1
	}
	return int(min(n, maxArgument)) * elementSize
}

func isText(value ref.Val, holds func(string) bool) bool {
	text, ok := value.(types.String)
	return ok && holds(string(text))
}

func takesPattern(function string) bool {
	return function == "matches" || function == "find" || function == "findAll"
}

// patternSize measures a regular expression by how long it takes to match one character.
func patternSize(pattern ref.Val) int {
	size := sizeOf(pattern)
	if isText(pattern, func(text string) bool { return strings.Contains(text, "{") }) {
		size *= repetitionFactor
	}
	return size
}

// boundPatternArgs bounds the text that is matched against a constant pattern: the planner puts a compiled pattern in
// place of such a call, and of the call only the arguments are left.
func boundPatternArgs(call interpreter.InterpretableCall) []interpreter.Interpretable {
	args := call.Args()
	if !takesPattern(call.Function()) || len(args) < 2 {
		return args
	}
	pattern, ok := args[1].(interpreter.InterpretableConst)
	if !ok {
		return args
	}
	bounded := append([]interpreter.Interpretable{}, args...)
	bounded[0] = &boundText{Interpretable: args[0], function: call.Function(), limit: maxCall / max(patternSize(pattern.Value()), 1)}
	return bounded
}

type boundText struct {
	interpreter.Interpretable
	function string
	limit    int
}

// Eval implements interpreter.Interpretable.
func (b *boundText) Eval(vars interpreter.Activation) ref.Val {
	value := b.Interpretable.Eval(vars)
	if sizeOf(value) > b.limit {
		refuse(b.function, "the text is too long for the pattern")
	}
	return value
}

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
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

// maxRepetitions is how many counted repetitions the texts of one selector may ask for in all. Constant patterns are
// compiled together with the selector, a{1000} to a thousand steps: as many as fit into a selector take many seconds.
const maxRepetitions = 10_000

// repetition is a{n}, a{n,} or a{n,m}. Go's regular expressions refuse counts above a thousand by themselves.
var repetition = regexp.MustCompile(`\{(\d{1,4})(?:,(\d{0,4}))?\}`)

// boundRepetitions refuses a selector whose texts, read as regular expressions, would be too large. One that cannot be
// parsed it leaves to the compiler, which says why.
func boundRepetitions(c compiler, expression string) error {
	if !strings.ContainsAny(expression, `{\`) {
		return nil // the usual case; a text can hide a brace behind an escape only
	}
	environment := c.CompileCELExpression("true", dracel.Options{DisableCostEstimation: true}).Environment
	parsed, issues := environment.Parse(expression)
	if issues.Err() != nil {
		return nil
	}
	total := 0
	ast.PostOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.LiteralKind {
			return
		}
		if text, ok := e.AsLiteral().(types.String); ok {
			total += repetitionsIn(string(text))
		}
	}))
	if total > maxRepetitions {
		return fmt.Errorf("its texts ask for %d counted repetitions such as a{1000}, and %d are allowed in all", total, maxRepetitions)
	}
	return nil
}

func repetitionsIn(text string) int {
	total := 0
	for _, found := range repetition.FindAllStringSubmatch(text, -1) {
		least, _ := strconv.Atoi(found[1]) // digits only, and few
		most, _ := strconv.Atoi(found[2])
		total += max(least, most)
	}
	return total
}

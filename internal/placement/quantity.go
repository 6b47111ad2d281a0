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
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

const (
	maxQuantityLength   = 128
	maxQuantityExponent = 999
)

// parseQuantity is upstream's parser for texts of a sane size. Upstream reads 1e100000000 in no time and then takes
// minutes and gigabytes to compare it with anything, and CEL's costs do not cover that.
func parseQuantity(text string) (resource.Quantity, error) {
	if len(text) > maxQuantityLength {
		return resource.Quantity{}, fmt.Errorf("the quantity has %d characters, and %d are allowed", len(text), maxQuantityLength)
	}
	if i := strings.LastIndexAny(text, "eE"); i >= 0 {
		exponent, err := strconv.ParseInt(text[i+1:], 10, 64)
		if err == nil && (exponent > maxQuantityExponent || exponent < -maxQuantityExponent) {
			return resource.Quantity{}, fmt.Errorf("the quantity has the exponent %d, and at most %d is allowed", exponent, maxQuantityExponent)
		}
	}
	return resource.ParseQuantity(text)
}

// boundQuantities makes the CEL functions quantity and isQuantity use parseQuantity. Neither a check of the expression
// nor one of its constants would do, since an expression can put the text together.
func boundQuantities(step interpreter.Interpretable) (interpreter.Interpretable, error) {
	call, ok := step.(interpreter.InterpretableCall)
	if !ok {
		return step, nil
	}
	switch call.Function() {
	case "quantity":
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), quantityFunction), nil
	case "isQuantity":
		return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), isQuantityFunction), nil
	default:
		return step, nil
	}
}

func quantityFunction(args ...ref.Val) ref.Val {
	text, ok := args[0].(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	quantity, err := parseQuantity(string(text))
	if err != nil {
		return types.WrapErr(err)
	}
	return apiservercel.Quantity{Quantity: &quantity}
}

func isQuantityFunction(args ...ref.Val) ref.Val {
	text, ok := args[0].(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	_, err := parseQuantity(string(text))
	return types.Bool(err == nil)
}

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

package trafficmap

import (
	"math/big"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// normalise turns capacities into weights of the same ratio: all are divided by the
// greatest common divisor of those that are not zero. When the largest is then still
// above v1beta1.MaxWeight, all are scaled down to it, rounded up, so that no positive
// capacity loses its share altogether.
func normalise(capacities []*big.Int) []int32 {
	divisor, largest := new(big.Int), new(big.Int)
	for _, c := range capacities {
		divisor.GCD(nil, nil, divisor, c)
		if c.Cmp(largest) > 0 {
			largest = c
		}
	}
	weights := make([]int32, len(capacities))
	if divisor.Sign() == 0 {
		return weights
	}
	largest = new(big.Int).Quo(largest, divisor)
	limit := big.NewInt(v1beta1.MaxWeight)
	for i, c := range capacities {
		w := new(big.Int).Quo(c, divisor)
		if largest.Cmp(limit) > 0 {
			w = ceilQuo(w.Mul(w, limit), largest)
		}
		weights[i] = int32(w.Int64())
	}
	return weights
}

func ceilQuo(x, y *big.Int) *big.Int {
	quotient, rest := new(big.Int).QuoRem(x, y, new(big.Int))
	if rest.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return quotient
}

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
	"cmp"
	"slices"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Tolerates tells whether a toleration covers a taint. Modelplane's rule, which differs from the one for Nodes in that
// an empty key with the operator Equal matches no taint:
//   - an empty effect covers both effects;
//   - an empty operator means Equal; Equal compares key and value, and an absent value is the empty one;
//   - Exists compares the key only, and an empty key covers every taint.
//
// A toleration of zero or fewer seconds does not cover a NoExecute taint. How long a longer one lasts is for the caller,
// who has a clock.
func Tolerates(toleration modelplane.Toleration, taint modelplane.Taint) bool {
	return tolerates(&toleration, &taint)
}

func tolerates(toleration *modelplane.Toleration, taint *modelplane.Taint) bool {
	if toleration.Effect != "" && toleration.Effect != taint.Effect {
		return false
	}
	if seconds := toleration.TolerationSeconds; seconds != nil && *seconds <= 0 && taint.Effect == modelplane.TaintEffectNoExecute {
		return false
	}
	switch toleration.Operator {
	case "", modelplane.TolerationOpEqual:
		return toleration.Key != "" && toleration.Key == taint.Key && toleration.Value == taint.Value
	case modelplane.TolerationOpExists:
		return toleration.Key == "" || toleration.Key == taint.Key
	default:
		return false
	}
}

// Untolerated gives the taints with one of these effects that no toleration covers, sorted by key, value and effect.
// Without effects it looks at NoSchedule and NoExecute, the two that keep a new replica away; a running one leaves for
// NoExecute only. Taints with any other effect mean nothing.
func Untolerated(tolerations []modelplane.Toleration, taints []modelplane.Taint, effects ...modelplane.TaintEffect) []modelplane.Taint {
	var untolerated []modelplane.Taint
	for i := range taints {
		taint := &taints[i]
		if !hasEffect(taint.Effect, effects) || toleratedByAny(tolerations, taint) {
			continue
		}
		untolerated = append(untolerated, *taint)
	}
	slices.SortFunc(untolerated, func(a, b modelplane.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Effect, b.Effect))
	})
	return untolerated
}

func hasEffect(effect modelplane.TaintEffect, effects []modelplane.TaintEffect) bool {
	if effect != modelplane.TaintEffectNoSchedule && effect != modelplane.TaintEffectNoExecute {
		return false
	}
	return len(effects) == 0 || slices.Contains(effects, effect)
}

func toleratedByAny(tolerations []modelplane.Toleration, taint *modelplane.Taint) bool {
	for i := range tolerations {
		if tolerates(&tolerations[i], taint) {
			return true
		}
	}
	return false
}

// TaintString writes a taint as people do: key=value:effect, or key:effect where it has no value.
func TaintString(taint modelplane.Taint) string {
	if taint.Value == "" {
		return taint.Key + ":" + string(taint.Effect)
	}
	return taint.Key + "=" + taint.Value + ":" + string(taint.Effect)
}

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
	"time"

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

// longestStay is what a toleration may say at most: more is for ever, and does not fit a duration.
const longestStay = 100 * 365 * 24 * time.Hour

// Limited tells whether a toleration covers NoExecute taints for a limited time only, or not at all.
func Limited(toleration *modelplane.Toleration) bool {
	seconds := toleration.TolerationSeconds
	return seconds != nil && *seconds < int64(longestStay/time.Second)
}

// Stay tells how long a taint is tolerated, from when it was added: not at all, for ever (limited is false), or for the
// longest time that any matching toleration gives, in whatever order they come.
func Stay(tolerations []modelplane.Toleration, taint *modelplane.Taint) (stay time.Duration, limited, tolerated bool) {
	for i := range tolerations {
		if !tolerates(&tolerations[i], taint) {
			continue
		}
		if taint.Effect != modelplane.TaintEffectNoExecute || !Limited(&tolerations[i]) {
			return 0, false, true
		}
		tolerated, limited = true, true
		stay = max(stay, time.Duration(*tolerations[i].TolerationSeconds)*time.Second)
	}
	return stay, limited, tolerated
}

// Repelling gives the taints that keep a new replica away, sorted: those that no toleration covers, and NoExecute taints
// that are tolerated for a limited time only. kube-scheduler places pods on nodes with the latter; a replica takes long
// to load, and one that goes where it must leave soon would go back and forth.
func Repelling(tolerations []modelplane.Toleration, taints []modelplane.Taint) []modelplane.Taint {
	repelling := Untolerated(tolerations, taints)
	for i := range taints {
		if _, limited, _ := Stay(tolerations, &taints[i]); limited {
			repelling = append(repelling, taints[i])
		}
	}
	sortTaints(repelling)
	return repelling
}

// Untolerated gives the taints with one of these effects that no toleration covers, sorted by key, value and effect.
// Without effects it looks at NoSchedule and NoExecute; a running replica leaves for NoExecute only. Taints with any
// other effect mean nothing.
func Untolerated(tolerations []modelplane.Toleration, taints []modelplane.Taint, effects ...modelplane.TaintEffect) []modelplane.Taint {
	var untolerated []modelplane.Taint
	for i := range taints {
		taint := &taints[i]
		if !hasEffect(taint.Effect, effects) || toleratedByAny(tolerations, taint) {
			continue
		}
		untolerated = append(untolerated, *taint)
	}
	sortTaints(untolerated)
	return untolerated
}

func sortTaints(taints []modelplane.Taint) {
	slices.SortFunc(taints, func(a, b modelplane.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Effect, b.Effect))
	})
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

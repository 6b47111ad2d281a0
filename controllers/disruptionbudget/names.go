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

package disruptionbudget

import (
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The labels of every budget that Evenkeel makes. Whoever takes Evenkeel away deletes the budgets by them.
const (
	// LabelManagedBy of a PodDisruptionBudget has the value evenkeel-workload-manager if Evenkeel made it.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "evenkeel-workload-manager"
	// LabelComponent of a PodDisruptionBudget names the component of the serving path that it protects.
	LabelComponent = "evenkeel.io/component"
)

const budgetSuffix = "-evenkeel"

// budgetName is the same for the same Deployment, so that two looks at it never make two budgets.
func budgetName(deployment string) string {
	if len(deployment)+len(budgetSuffix) <= validation.DNS1123SubdomainMaxLength {
		return deployment + budgetSuffix
	}
	sum := sha256.Sum256([]byte(deployment))
	hash := "-" + hex.EncodeToString(sum[:])[:10]
	return deployment[:validation.DNS1123SubdomainMaxLength-len(budgetSuffix)-len(hash)] + hash + budgetSuffix
}

func labelSet(set map[string]string) labels.Set { return set }

func intOrString(n int32) intstr.IntOrString { return intstr.FromInt32(n) }

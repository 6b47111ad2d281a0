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

package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DecodePreemptionArgs reads what the scheduler hands to the plugin: nothing, the text of the profile's pluginConfig, or
// arguments made in a program. The result is a copy of its own, defaulted and valid; an error names the field.
func DecodePreemptionArgs(obj runtime.Object) (*PreemptionArgs, error) {
	args := &PreemptionArgs{}
	switch t := obj.(type) {
	case nil:
	case *PreemptionArgs:
		t.DeepCopyInto(args)
	case *runtime.Unknown:
		if err := Decode(t.Raw, args); err != nil {
			return nil, fmt.Errorf("decode PreemptionArgs: %w", err)
		}
	default:
		return nil, fmt.Errorf("decode PreemptionArgs: want PreemptionArgs of %s, got %T", GroupVersion, obj)
	}
	SetDefaultsPreemptionArgs(args)
	if err := ValidatePreemptionArgs(args).ToAggregate(); err != nil {
		return nil, fmt.Errorf("invalid PreemptionArgs: %w", err)
	}
	return args, nil
}

// ValidatePreemptionArgs tells which fields have values that they cannot have.
func ValidatePreemptionArgs(args *PreemptionArgs) field.ErrorList {
	var errs field.ErrorList
	if n := args.MaxNamedClusters; n != nil && (*n < 0 || *n > MaxMaxNamedClusters) {
		errs = append(errs, field.Invalid(field.NewPath("maxNamedClusters"), *n,
			fmt.Sprintf("must be between 0 and %d", MaxMaxNamedClusters)))
	}
	if mode := args.Mode; mode != "" && mode != PreemptionModeExplain && mode != PreemptionModePreempt {
		errs = append(errs, field.NotSupported(field.NewPath("mode"), mode, []PreemptionMode{PreemptionModeExplain, PreemptionModePreempt}))
	}
	return errs
}

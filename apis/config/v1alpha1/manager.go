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

// decodeFile reads a program's file into a configuration of a kind; no bytes give the defaults. The result is defaulted and
// valid; an error names the field.
func decodeFile[T runtime.Object](data []byte, into T, kind string, setDefaults func(T), validate func(T) field.ErrorList) (T, error) {
	var none T
	if len(data) > 0 {
		if err := Decode(data, into); err != nil {
			return none, fmt.Errorf("decode %s: %w", kind, err)
		}
	}
	setDefaults(into)
	if err := validate(into).ToAggregate(); err != nil {
		return none, fmt.Errorf("invalid %s: %w", kind, err)
	}
	return into, nil
}

// validateManager checks what every manager's file has.
func validateManager(connection *ClientConnection, election *LeaderElection, healthBindAddress, metricsBindAddress string) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("clientConnection")
	if *connection.QPS == 0 {
		errs = append(errs, field.Invalid(path.Child("qps"), *connection.QPS, "must not be 0; a negative number means no limit"))
	}
	errs = append(errs, atLeast(path.Child("burst"), *connection.Burst, 1)...)
	errs = append(errs, validateAddress(field.NewPath("healthBindAddress"), healthBindAddress)...)
	errs = append(errs, validateAddress(field.NewPath("metricsBindAddress"), metricsBindAddress)...)
	return append(errs, validateLeaderElection(field.NewPath("leaderElection"), election)...)
}

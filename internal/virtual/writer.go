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

package virtual

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// PlacementWriter writes a decision of the scheduler.
type PlacementWriter interface {
	// Assign records where a placement goes, in one status write. It returns an error, and the scheduler tries again,
	// when the placement is gone, was edited since the Pod was translated, or has another assignment already.
	Assign(ctx context.Context, pod *corev1.Pod, assignment evenkeel.Assignment) error
}

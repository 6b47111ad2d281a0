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

// Annotations by which a person insists on what an admission webhook would refuse.
const (
	// AnnotationAllowBlackout of an InferenceService names the one drain ID that may leave the service without traffic.
	AnnotationAllowBlackout = "evenkeel.io/allow-blackout"
	// AnnotationAllowUndrainedDelete of an InferenceCluster, with the value "true", lets it be deleted with replicas on it.
	AnnotationAllowUndrainedDelete = "evenkeel.io/allow-undrained-delete"
)

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
	"k8s.io/apimachinery/pkg/api/meta"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Routable tells whether a cluster's gateway has an address or a hostname. Only new replicas need it.
func Routable(cluster *modelplane.InferenceCluster) bool {
	if cluster == nil || cluster.Status.Gateway == nil {
		return false
	}
	return cluster.Status.Gateway.Address != "" || cluster.Status.Gateway.Hostname != ""
}

// Ready tells whether a cluster's condition Ready is True. Only new replicas need it.
func Ready(cluster *modelplane.InferenceCluster) bool {
	return cluster != nil && meta.IsStatusConditionTrue(cluster.Status.Conditions, modelplane.ConditionReady)
}

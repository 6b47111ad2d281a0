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
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestReadyAndRoutable(t *testing.T) {
	east := cluster("east")
	assert.True(t, Ready(&east))
	assert.True(t, Routable(&east))

	unknown := cluster("east")
	unknown.Status.Conditions[0].Status = metav1.ConditionUnknown
	assert.False(t, Ready(&unknown))

	other := cluster("east")
	other.Status.Conditions[0].Type = "ClusterReady"
	assert.False(t, Ready(&other), "only Ready counts")

	byName := cluster("east")
	byName.Status.Gateway = &modelplane.Gateway{Hostname: "east.acme.test"}
	assert.True(t, Routable(&byName))

	bare := cluster("east", withoutStatus)
	assert.False(t, Ready(&bare))
	assert.False(t, Routable(&bare))
	assert.False(t, Ready(nil))
	assert.False(t, Routable(nil))

	unreachable := cluster("east", withoutGateway)
	assert.False(t, Routable(&unreachable))
}

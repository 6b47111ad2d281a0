//go:build integration

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

package systemnodes

import (
	"context"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/workloadcluster"
)

// engineRestarts gives the UIDs of the engines' pods: others mean that an engine was started anew.
func engineRestarts(t require.TestingT, c *workloadcluster.Cluster) map[string]string {
	list := &corev1.PodList{}
	require.NoError(t, c.Client.List(context.Background(), list, client.InNamespace(workloadcluster.NamespaceModels), client.HasLabels{"modelplane.ai/serving"}))
	uids := map[string]string{}
	for i := range list.Items {
		uids[list.Items[i].Name] = string(list.Items[i].UID)
	}
	return uids
}

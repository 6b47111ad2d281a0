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

package capacity

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// TestBudgets are what kube-scheduler's search gets from the handle, and nothing else of it changes.
func TestBudgets(t *testing.T) {
	client := fake.NewClientset()
	shared := informers.NewSharedInformerFactory(client, 0)
	require.NoError(t, shared.Core().V1().Pods().Informer().GetIndexer().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml-team", Name: "chat-0-1"}}))
	inner, err := frameworkruntime.NewFramework(t.Context(), nil, nil, frameworkruntime.WithInformerFactory(shared), frameworkruntime.WithClientSet(client))
	require.NoError(t, err)
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	require.NoError(t, indexer.Add(&policy.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ml-team", Name: "chat"}}))

	handle := withBudgets(inner, policylisters.NewPodDisruptionBudgetLister(indexer))
	found, err := preemption.NewEvaluator("x", handle, nil, false).PdbLister.List(labels.Everything())
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, "chat", found[0].Name)
	pods, err := handle.SharedInformerFactory().Core().V1().Pods().Lister().List(labels.Everything())
	require.NoError(t, err)
	assert.Len(t, pods, 1)
	assert.Same(t, client, handle.ClientSet())
}

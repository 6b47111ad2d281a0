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

package preemption

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/evenkeel-io/evenkeel/internal/virtual"
)

func victim(namespace, name string, priority int32, age time.Duration) *v1.Pod {
	started := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(-age))
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1.PodSpec{Priority: ptr.To(priority)},
		Status:     v1.PodStatus{StartTime: &started},
	}
}

// TestImportanceIsATotalOrder has no two victims that could come in either order.
func TestImportanceIsATotalOrder(t *testing.T) {
	ordered := []*v1.Pod{
		victim("b", "b", 20, 0), victim("b", "b", 10, 2*time.Hour), victim("b", "b", 10, time.Hour),
		victim("a", "c", 10, 0), victim("b", "a", 10, 0), victim("b", "b", 10, 0), victim("a", "a", -5, time.Hour),
	}
	for i, x := range ordered {
		for j, y := range ordered {
			assert.Equal(t, i < j, moreImportant(x, y), "%d before %d", i, j)
		}
	}
	shuffled := slices.Clone(ordered)
	for range 20 {
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		slices.SortFunc(shuffled, func(x, y *v1.Pod) int {
			if moreImportant(x, y) {
				return -1
			}
			return 1
		})
		require.Equal(t, ordered, shuffled)
	}
}

// TestWhatIsBeingBoundIsNoVictim since it could not be asked to leave.
func TestWhatIsBeingBoundIsNoVictim(t *testing.T) {
	pod := victim("a", "a", 0, 0)
	info, err := framework.NewPodInfo(pod)
	require.NoError(t, err)
	assert.False(t, eligible(nil, info, nil))
	pod.Annotations = map[string]string{virtual.AnnotationAssignment: "{}"}
	assert.True(t, eligible(nil, info, nil))
}

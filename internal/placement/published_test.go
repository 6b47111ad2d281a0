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

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func TestPublishedPools(t *testing.T) {
	classes := map[string][]modelplane.DeviceTemplate{
		"big": {
			{
				Name: "gpu", Driver: "gpu.test", DeviceClassName: "gpu.test", Count: ptr.To[int64](8),
				Attributes: map[string]modelplane.DeviceAttribute{"arch": {String: ptr.To("Nova")}},
				Capacity:   map[string]modelplane.DeviceCapacity{"memory": {Value: "141Gi"}},
			},
			{Name: "nic", Claim: modelplane.DeviceClaimSynthetic, Driver: "nic.test"},
		},
		"empty": nil,
	}
	bigDevices := []modelplane.Device{
		{
			Name: "gpu", Claim: modelplane.DeviceClaimDRA, Driver: "gpu.test", DeviceClassName: "gpu.test", Count: ptr.To[int64](8),
			Attributes: map[string]modelplane.DeviceAttribute{"arch": {String: ptr.To("Nova")}},
			Capacity:   map[string]modelplane.DeviceCapacity{"memory": {Value: "141Gi"}},
		},
		{Name: "nic", Claim: modelplane.DeviceClaimSynthetic, Driver: "nic.test", Count: ptr.To[int64](1)},
	}
	for name, tc := range map[string]struct {
		pools   []modelplane.NodePool
		want    []modelplane.GPUPool
		missing []string
	}{
		"no pools": {},
		"node count": {
			pools: []modelplane.NodePool{{Name: "a", ClassName: "big", NodeCount: ptr.To[int32](3)}},
			want:  []modelplane.GPUPool{{Name: "a", Nodes: 3, Devices: bigDevices}},
		},
		"no count means one": {
			pools: []modelplane.NodePool{{Name: "a", ClassName: "big"}},
			want:  []modelplane.GPUPool{{Name: "a", Nodes: 1, Devices: bigDevices}},
		},
		"an autoscaled pool counts at its largest": {
			pools: []modelplane.NodePool{{Name: "a", ClassName: "big", NodeCount: ptr.To[int32](2), MaxNodeCount: ptr.To[int32](4)}},
			want:  []modelplane.GPUPool{{Name: "a", Nodes: 4, Devices: bigDevices}},
		},
		"missing classes are named once, sorted, and their pools left out": {
			pools: []modelplane.NodePool{
				{Name: "z", ClassName: "zeta"}, {Name: "a", ClassName: "big"}, {Name: "y", ClassName: "zeta"}, {Name: "e", ClassName: "empty"},
			},
			want:    []modelplane.GPUPool{{Name: "a", Nodes: 1, Devices: bigDevices}},
			missing: []string{"empty", "zeta"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, missing := PublishedPools(tc.pools, classes)
			assert.Empty(t, cmp.Diff(tc.want, got))
			assert.Equal(t, tc.missing, missing)
		})
	}
}

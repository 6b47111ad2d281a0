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
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// PublishedPools makes a cluster's gpuPools from its node pools and the devices of
// their InferenceClasses, by class name. A pool whose class is not there is left
// out, and the class is named among the missing ones, sorted. As Modelplane does, a
// pool is as large as its autoscaler may make it.
func PublishedPools(nodePools []modelplane.NodePool, classes map[string][]modelplane.DeviceTemplate) (pools []modelplane.GPUPool, missing []string) {
	unknown := map[string]bool{}
	for i := range nodePools {
		pool := &nodePools[i]
		devices := classes[pool.ClassName]
		if len(devices) == 0 {
			unknown[pool.ClassName] = true
			continue
		}
		pools = append(pools, modelplane.GPUPool{
			Name:    pool.Name,
			Nodes:   largestSize(pool),
			Devices: publishedDevices(devices),
		})
	}
	return pools, slices.Sorted(maps.Keys(unknown))
}

func largestSize(pool *modelplane.NodePool) int64 {
	if pool.MaxNodeCount != nil {
		return int64(*pool.MaxNodeCount)
	}
	return int64(ptr.Deref(pool.NodeCount, 1))
}

func publishedDevices(templates []modelplane.DeviceTemplate) []modelplane.Device {
	devices := make([]modelplane.Device, 0, len(templates))
	for i := range templates {
		t := templates[i].DeepCopy()
		device := modelplane.Device{
			Name:            t.Name,
			Claim:           t.Claim,
			Driver:          t.Driver,
			DeviceClassName: t.DeviceClassName,
			Count:           t.Count,
			Attributes:      t.Attributes,
			Capacity:        t.Capacity,
		}
		if device.Claim == "" {
			device.Claim = modelplane.DeviceClaimDRA
		}
		if device.Count == nil {
			device.Count = ptr.To[int64](1)
		}
		devices = append(devices, device)
	}
	return devices
}

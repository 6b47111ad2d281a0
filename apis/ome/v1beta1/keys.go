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

package v1beta1

const (
	// TrafficDrainAnnotation holds a service's drains. It belongs on the
	// InferenceService of the hub only; placement strips it from member copies.
	TrafficDrainAnnotation = "ome.io/traffic-drain"

	// GlobalHostAnnotation names the public host of a service and goes before the
	// installation's host template.
	GlobalHostAnnotation = "ome.io/global-host"

	// AcceleratorRequirementsKey and ClusterSelectorKey are the annotations that
	// placed a service over several clusters before spec.placement existed. They
	// still count when spec.placement is absent.
	AcceleratorRequirementsKey = "ome.io/accelerator-requirements"
	ClusterSelectorKey         = "ome.io/cluster-selector"
)

// Marks that placement puts on the copies it derives in workload clusters. The
// presence of any one of them, whatever its value, makes an object a derived copy.
const (
	PlacementOriginLabel         = "ome.io/placement-origin"
	PlacementControlPlaneLabel   = "ome.io/placement-control-plane"
	PlacementOriginUIDAnnotation = "ome.io/placement-origin-uid"
)

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

package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

const (
	// reasonAssumed is the reason of the condition Ready of a cluster that is only taken to be up.
	reasonAssumed = "Assumed"
	// assumedAddress stands for the gateway of such a cluster: an address that is nobody's.
	assumedAddress = "192.0.2.1"
)

// reports tells whether a cluster's file has a status, which then holds.
func reports(c *modelplane.InferenceCluster) bool {
	return c.Status.GPUPools != nil || c.Status.Conditions != nil
}

// withoutCapacity says of each cluster of the files what of it no plan counts: where pools come from is its status, and a
// file that somebody is about to apply has none.
func withoutCapacity(files []*modelplane.InferenceCluster, hub []modelplane.InferenceCluster) []string {
	var said []string
	for _, c := range files {
		if reports(c) {
			continue
		}
		i := slices.IndexFunc(hub, func(old modelplane.InferenceCluster) bool { return old.Name == c.Name })
		switch {
		case i < 0:
			said = append(said, fmt.Sprintf("InferenceCluster %s is new and reports no node pools yet, so that nothing lands there in this plan. "+
				"--assume-ready plans as if it were up with the pools of its spec", c.Name))
		case !equality.Semantic.DeepEqual(c.Spec.NodePools, hub[i].Spec.NodePools):
			said = append(said, fmt.Sprintf("InferenceCluster %s gets other node pools, and this plan counts those that it reports now. "+
				"--assume-ready plans as if it were up with the pools of its new spec", c.Name))
		}
	}
	return said
}

// assumeReady gives the clusters of the files the status that they would report if they were up and had all nodes.
func assumeReady(files []*modelplane.InferenceCluster, classes []modelplane.InferenceClass) error {
	devices := map[string][]modelplane.DeviceTemplate{}
	for i := range classes {
		devices[classes[i].Name] = classes[i].Spec.Devices
	}
	for _, c := range files {
		if reports(c) {
			continue
		}
		pools, missing := placement.PublishedPools(c.Spec.NodePools, devices)
		if len(missing) > 0 {
			return fmt.Errorf("InferenceCluster %s: what devices its nodes have is not known: neither the files nor the hub have InferenceClass %s with devices",
				c.Name, strings.Join(missing, ", "))
		}
		c.Status = modelplane.InferenceClusterStatus{GPUPools: pools, Gateway: &modelplane.Gateway{Address: assumedAddress}}
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: modelplane.ConditionReady, Status: metav1.ConditionTrue, Reason: reasonAssumed})
		if existing := c.Spec.Cluster.Existing; existing != nil && existing.Cache != nil {
			c.Status.Cache = &modelplane.ClusterCacheStatus{StorageClassName: existing.Cache.StorageClassName}
		}
	}
	return nil
}

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

package testhub

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Nominator knows the Pods that wait for room on a cluster. The zero value knows none.
type Nominator struct {
	pods []fwk.PodInfo
}

var _ fwk.PodNominator = &Nominator{}

// Nominate makes a Pod wait for room where its status says.
func (n *Nominator) Nominate(pod *corev1.Pod) error {
	podInfo, err := framework.NewPodInfo(pod)
	if err != nil {
		return err
	}
	n.pods = append(n.pods, podInfo)
	return nil
}

// AddNominatedPod implements fwk.PodNominator; only Nominate adds.
func (n *Nominator) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}

// DeleteNominatedPodIfExists implements fwk.PodNominator; nothing is deleted.
func (n *Nominator) DeleteNominatedPodIfExists(*corev1.Pod) {}

// UpdateNominatedPod implements fwk.PodNominator; nothing is updated.
func (n *Nominator) UpdateNominatedPod(klog.Logger, *corev1.Pod, fwk.PodInfo) {}

// NominatedPodsForNode implements fwk.PodNominator.
func (n *Nominator) NominatedPodsForNode(cluster string) []fwk.PodInfo {
	var found []fwk.PodInfo
	for _, podInfo := range n.pods {
		if podInfo.GetPod().Status.NominatedNodeName == cluster {
			found = append(found, podInfo)
		}
	}
	return found
}

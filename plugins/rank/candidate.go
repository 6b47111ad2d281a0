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

package rank

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/virtual"
)

// CandidateFor gives what the plugin compares a cluster by, for the placement that a Pod stands for.
func CandidateFor(pod *v1.Pod, nodeInfo fwk.NodeInfo) (placement.Candidate, error) {
	requirements, err := virtual.RequirementsOf(pod)
	if err != nil {
		return placement.Candidate{}, err
	}
	return candidateFor(requirements, pod.Namespace, nodeInfo), nil
}

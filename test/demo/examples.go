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

package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// The objects in manifests/examples.
const (
	examples = "manifests/examples"

	clusterEast  = "gpu-us-east"
	clusterWest  = "gpu-us-west"
	clusterNorth = "gpu-eu-north"

	chat     = "chat"     // five replicas of one node each, anywhere
	embed    = "embed"    // two in North America, which tolerate maintenance
	reasoner = "reasoner" // one over two nodes of a kind that only gpu-us-east has two of
)

// placeExamples applies the examples and waits until every replica serves.
func (s *stage) placeExamples(ctx context.Context) (*fleet, error) {
	if err := s.awaitClusters(ctx); err != nil {
		return nil, err
	}
	if _, err := s.kubectl(ctx, "apply", "-k", examples); err != nil {
		return nil, err
	}
	return s.await(ctx, "every replica to serve", (*fleet).complete)
}

// awaitClusters applies the clusters alone if they cannot take replicas yet, and waits until they can: what is placed
// while only some are Ready spreads over these.
func (s *stage) awaitClusters(ctx context.Context) error {
	f, err := readFleet(ctx, s.client)
	if err != nil || f.clustersReady() {
		return err
	}
	if _, err := s.kubectl(ctx, "apply", "-f", examples+"/inference-classes.yaml", "-f", examples+"/inference-clusters.yaml"); err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		f, err := readFleet(ctx, s.client)
		return err == nil && f.clustersReady(), err
	})
	if err != nil {
		return fmt.Errorf("waiting for the clusters to be Ready: %w", err)
	}
	return nil
}

// clearFleet removes the deployments, so that the next scenario places them afresh.
// The clusters stay.
func (s *stage) clearFleet(ctx context.Context) error {
	s.out.printf("\n   Start afresh\n")
	if _, err := s.kubectl(ctx, "delete", "modeldeployments", "--all", "-n", namespace); err != nil {
		return err
	}
	_, err := s.await(ctx, "the replicas to be gone", func(f *fleet) bool {
		return len(f.deployments)+len(f.replicas)+len(f.placements) == 0
	})
	return err
}

// showReplicas lists the replicas with the deployment each belongs to.
func (s *stage) showReplicas(ctx context.Context, more ...string) (string, error) {
	return s.kubectl(ctx, append([]string{"get", "modelreplicas", "-n", namespace, "-L", modelplane.LabelDeployment}, more...)...)
}

// checkSpread asserts on which clusters a deployment's replicas are.
func (s *stage) checkSpread(f *fleet, name, deployment, want string) {
	s.check(name, f.spread(deployment) == want, "%s is on %q, expected %q", deployment, f.spread(deployment), want)
}

// clustersReady tells whether the three clusters are there and can take replicas.
func (f *fleet) clustersReady() bool {
	ready := 0
	for i := range f.clusters {
		status := &f.clusters[i].Status
		if meta.IsStatusConditionTrue(status.Conditions, modelplane.ConditionReady) && status.Gateway != nil {
			ready++
		}
	}
	return ready == len([]string{clusterEast, clusterWest, clusterNorth})
}

// placementsMatch returns what is wrong with the placements of replicas: each replica
// must have exactly one, which says the same cluster and the same pools.
func (f *fleet) placementsMatch() error {
	assigned := map[string]int{}
	for i := range f.placements {
		p := &f.placements[i]
		if p.Status.Assignment == nil {
			return fmt.Errorf("placement %s has no cluster", p.Name)
		}
		assigned[p.Spec.DeploymentName+" on "+p.Status.Assignment.ClusterName]++
	}
	for i := range f.replicas {
		assigned[deploymentOf(&f.replicas[i])+" on "+f.replicas[i].Spec.ClusterName]--
	}
	for what, surplus := range assigned {
		if surplus != 0 {
			return fmt.Errorf("%s: %+d placements more than replicas", what, surplus)
		}
	}
	return nil
}

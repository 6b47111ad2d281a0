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
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/standin"
)

func placeScenario() scenario {
	return scenario{
		name:    "place",
		summary: "replicas get a home that has their hardware, and serve",
		run: func(ctx context.Context, s *stage) error {
			s.out.step("Apply the example fleet: three clusters, three deployments with schedulerName: evenkeel")
			fleet, err := s.placeExamples(ctx)
			if err != nil {
				return err
			}
			for _, show := range []func(context.Context, *fleetView) error{
				showClusters, showDeployments, showPlacements, showGang, showReasons, showTraffic,
			} {
				if err := show(ctx, &fleetView{stage: s, fleet: fleet}); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// fleetView is a step of the scenario: the stage, and the fleet once all is placed.
type fleetView struct {
	*stage
	*fleet
}

func showClusters(ctx context.Context, v *fleetView) error {
	v.out.step("What the clusters have")
	_, err := v.kubectl(ctx, "evenkeel", "get", "clusters", "-o", "wide")
	v.check("three clusters are Ready and have a gateway", v.clustersReady(), "%d clusters", len(v.clusters))
	return err
}

func showDeployments(ctx context.Context, v *fleetView) error {
	v.out.step("How the deployments stand")
	if _, err := v.kubectl(ctx, "get", "modeldeployments", "-n", namespace); err != nil {
		return err
	}
	for _, name := range []string{chat, embed, reasoner} {
		scheduled := v.condition(name, modelplane.ConditionReplicasScheduled)
		v.check(name+" says that all its replicas have a home", scheduled.Reason == "ReplicasCreated",
			"ReplicasScheduled: %s %s %q", scheduled.Status, scheduled.Reason, scheduled.Message)
		ready := v.condition(name, modelplane.ConditionReplicasReady)
		v.check(name+" says that all its replicas serve", ready.Reason == "AllReplicasReady",
			"ReplicasReady: %s %s %q", ready.Status, ready.Reason, ready.Message)
	}
	return nil
}

func showPlacements(ctx context.Context, v *fleetView) error {
	v.out.step("Where the scheduler put them: one ReplicaPlacement and one ModelReplica for each replica")
	if _, err := v.kubectl(ctx, "get", "replicaplacements", "-n", namespace); err != nil {
		return err
	}
	if _, err := v.showReplicas(ctx); err != nil {
		return err
	}
	v.checkSpread(v.fleet, "chat is spread: fewest of its own replicas first, then by name, as far as there is room", chat,
		clusterNorth+":2 "+clusterEast+":2 "+clusterWest+":1")
	v.checkSpread(v.fleet, "embed is in North America only, as its clusterSelector says", embed,
		clusterEast+":1 "+clusterWest+":1")
	v.checkSpread(v.fleet, "reasoner is where one pool has two H200 nodes", reasoner, clusterEast+":1")
	err := v.placementsMatch()
	v.check("every replica has exactly one placement, on the same cluster", err == nil, "%v", err)
	return nil
}

func showGang(ctx context.Context, v *fleetView) error {
	v.out.step("The multi-node replica: leader and worker share a pool and claim its GPUs")
	replicas := v.replicasOf(reasoner)
	if len(replicas) != 1 {
		return fmt.Errorf("%s has %d replicas, expected 1", reasoner, len(replicas))
	}
	if _, err := v.kubectl(ctx, "get", "modelreplica", replicas[0].Name, "-n", namespace, "-o",
		`jsonpath={range .spec.engines[*].members[*]}{.role} in pool {.nodePoolName} claims {.deviceRequests[*].count} of {.deviceRequests[*].deviceClassName}{"\n"}{end}`); err != nil {
		return err
	}
	for _, member := range replicas[0].Spec.Engines[0].Members {
		v.check(fmt.Sprintf("the %s is in pool h200 and claims GPUs, not the fabric that only describes the node", member.Role),
			member.NodePoolName == "h200" && len(member.DeviceRequests) == 1 && member.DeviceRequests[0].Name == "gpu",
			"pool %s, requests %v", member.NodePoolName, member.DeviceRequests)
	}
	return nil
}

// showReasons asks why the replica that needs most is where it is, and whether there is room for another.
func showReasons(ctx context.Context, v *fleetView) error {
	v.out.step("Why it is there, and whether a second one would find a place")
	because, err := v.kubectl(ctx, "evenkeel", "why", reasoner, "-n", namespace)
	if err != nil {
		return err
	}
	v.check("each other cluster is named with what it lacks",
		strings.Contains(because, clusterWest+"/h200 needs 2 nodes, has 1 in all") && strings.Contains(because, clusterNorth+"/l40s has no devices for request gpu"), "%s", because)
	plan, err := v.refused(ctx, "evenkeel", "plan", "scale", reasoner, "2", "-n", namespace, "--fail-on", "unplaceable")
	v.check("the plan says that a second one would wait", strings.Contains(plan, "1 replica waits for a cluster"), "%s", plan)
	return err
}

// showTraffic asks often enough that each of chat's five replicas has its turn.
func showTraffic(ctx context.Context, v *fleetView) error {
	v.out.step("Ask the model through the gateway of the stand-in, once for each replica")
	if err := v.awaitRoute(ctx, chat); err != nil {
		return err
	}
	answered := map[string]bool{}
	for range v.deployment(chat).Spec.Replicas {
		code, body, err := v.request(ctx, "/"+namespace+"/"+chat+"/v1/models")
		if err != nil {
			return err
		}
		var answer standin.Answer
		if code == http.StatusOK && json.Unmarshal([]byte(body), &answer) == nil {
			answered[answer.Replica] = true
		}
	}
	v.check("each replica of chat answered", len(answered) == int(v.deployment(chat).Spec.Replicas), "%d answered: %v", len(answered), answered)
	return nil
}

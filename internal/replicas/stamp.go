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

package replicas

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// AnnotationTemplateHash of a ModelReplica tells what it was last made to be, so that an edit by somebody else is not
// taken for an edit of the template.
const AnnotationTemplateHash = "evenkeel.io/template-hash"

// stamp creates the replicas of placements that have a cluster, and brings those that stay to the current template.
func (s *state) stamp() {
	if s.invalid != nil {
		return
	}
	for _, sl := range s.slots {
		for _, u := range sl.units {
			switch {
			case sl.victim || u.removed || !u.staying() || u.cause != nil && u.cause.reason != evenkeel.CauseTolerating:
			case u.alive():
				s.restamp(u)
			case u.uncreated() && s.mayPlace() && vacant(sl, u):
				if r, err := s.desiredReplica(u); err == nil {
					s.act(CreateReplica{Placement: u.placement, Replica: r})
				}
			}
		}
	}
}

// vacant tells whether the replicas that u takes over from have left its nodes: two are never meant to be charged to
// the same ones. On another cluster it is enough that the old one is going, and one that serves until u does stays.
func vacant(sl *slot, u *unit) bool {
	for _, before := range sl.before(u) {
		if before.alive() && !(u.permitted && before == sl.holder()) || before.terminating() && before.clusterName() == u.clusterName() {
			return false
		}
	}
	return true
}

func (s *state) restamp(u *unit) {
	want, err := s.desiredReplica(u)
	if err != nil {
		return
	}
	if fields := differences(u.replica, want); len(fields) > 0 {
		drifted := u.replica.Annotations[AnnotationTemplateHash] == want.Annotations[AnnotationTemplateHash]
		s.act(UpdateReplica{Placement: u.placement, Observed: u.replica, Replica: want, Fields: fields, Drifted: drifted})
	}
}

// desiredReplica is the replica that a placement and the template ask for. It fails where the pools do not match the
// template, for which there is a cause, or will be.
func (s *state) desiredReplica(u *unit) (*modelplane.ModelReplica, error) {
	if u.cluster == nil {
		return nil, fmt.Errorf("the InferenceCluster %q does not exist", u.clusterName())
	}
	assignment := u.placement.Status.Assignment
	requests, err := s.Matcher.Resolve(s.engines, assignment.Engines, u.cluster.Pools)
	if err != nil {
		return nil, err
	}
	template := &s.Deployment.Spec.Template
	replica := &modelplane.ModelReplica{
		TypeMeta:   metav1.TypeMeta{APIVersion: modelplane.GroupVersion.String(), Kind: "ModelReplica"},
		ObjectMeta: s.childMeta(u, "replica"),
		Spec: modelplane.ModelReplicaSpec{
			ClusterName:   assignment.ClusterName,
			ModelCacheRef: template.Spec.ModelCacheRef,
			Serving:       template.Spec.Serving,
		},
	}
	for i := range template.Spec.Engines {
		replica.Spec.Engines = append(replica.Spec.Engines,
			stampedEngine(&template.Spec.Engines[i], assignment.Engines, requests[i]))
	}
	replica.Annotations[AnnotationTemplateHash] = templateHash(replica)
	return replica, nil
}

// templateHash is the same for the same wanted replica.
func templateHash(r *modelplane.ModelReplica) string {
	h := fnv.New64a()
	// Neither can fail: there is nothing in them that JSON does not have, and a hash takes all.
	_ = json.NewEncoder(h).Encode(normalized(&r.Spec))
	_ = json.NewEncoder(h).Encode(r.Labels)
	return strconv.FormatUint(h.Sum64(), 36)
}

// childMeta is the metadata that Modelplane's own function would give a replica or its endpoint.
func (s *state) childMeta(u *unit, kind string) metav1.ObjectMeta {
	a := u.placement.Status.Assignment
	labels := map[string]string{}
	if m := s.Deployment.Spec.Template.Metadata; m != nil {
		maps.Copy(labels, m.Labels)
	}
	index := strconv.Itoa(int(a.Index))
	labels[modelplane.LabelDeployment] = s.Deployment.Name
	labels[modelplane.LabelCluster] = a.ClusterName
	labels[modelplane.LabelReplicaIndex] = index
	return metav1.ObjectMeta{
		Namespace: s.Deployment.Namespace,
		Name:      u.name,
		Labels:    labels,
		Annotations: map[string]string{
			modelplane.AnnotationCompositionResourceName: kind + "-" + a.ClusterName + "-" + index,
		},
		OwnerReferences: []metav1.OwnerReference{s.ownerReference()},
	}
}

func stampedEngine(engine *modelplane.Engine, assigned []evenkeel.EngineAssignment, requests [][]modelplane.ReplicaDeviceRequest) modelplane.ReplicaEngine {
	stamped := modelplane.ReplicaEngine{Name: engine.Name, Copies: engine.Copies, Phase: engine.Phase}
	for i := range engine.Members {
		member := &engine.Members[i]
		stamped.Members = append(stamped.Members, modelplane.ReplicaMember{
			Role:           member.Role,
			NodePoolName:   poolOf(assigned, engine.Name, i),
			DeviceRequests: requests[i],
			Worker:         member.Worker,
			Template:       member.Template,
		})
	}
	return stamped
}

func poolOf(assigned []evenkeel.EngineAssignment, engine string, member int) string {
	for i := range assigned {
		if assigned[i].Name == engine && member < len(assigned[i].Members) {
			return assigned[i].Members[member].NodePoolName
		}
	}
	return ""
}

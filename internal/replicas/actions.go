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
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Result is what to do, in this order: the actions, the deployment's status, the events.
type Result struct {
	Actions []Action
	Status  DeploymentStatus
	Events  []Event
	// RequeueAfter is when to decide again even if nothing changes; zero means never.
	RequeueAfter time.Duration
	// Moving counts the replicas that are on the move, and Loading those of them that load, by cluster.
	Moving  int
	Loading map[string]int
	// WaitsForFleet tells that more could be on the move if less was elsewhere in the fleet.
	WaitsForFleet bool
	// Steps tell where each replica is that moves, has just moved, or arrives.
	Steps []Step
	// Leaving counts, by cluster, the replicas that must leave it and are still there, and Unplaceable those wanted
	// replicas that have no destination.
	Leaving     map[string]int
	Unplaceable int
}

// DeploymentStatus is what the deployment's status should say. Conditions of other types are not ours.
type DeploymentStatus struct {
	Total, Ready int32
	Conditions   []metav1.Condition
}

// Event is something to tell people about an object.
type Event struct {
	// Placement that the event is about; nil means the deployment.
	Placement *evenkeel.ReplicaPlacement
	Warning   bool
	Reason    string
	Message   string
	// Cause of the move that the event ends, empty for others.
	Cause string
}

// Step is where one placement's move is.
type Step struct {
	UID       types.UID
	Placement string
	// Name of the step, and the reason that the replica has not left yet.
	Name, Reason string
	// From and To are clusters, as far as they are known.
	From, To     string
	Cause, Actor string
	WaitingFor   string
	// Written tells that the placement's status has said so before.
	Written bool
}

// Action is one API write. String says in a few words what it does to what.
type Action interface {
	fmt.Stringer
	isAction()
}

// CreatePlacement creates a placement; one of that name that is ours already is as good.
type CreatePlacement struct {
	Placement *evenkeel.ReplicaPlacement
	// AdoptUID, if set, is the UID that an uncached read must give for the replica that the placement adopts, and the
	// replica must not be terminating.
	AdoptUID types.UID
}

// UpdatePlacement replaces spec and annotations of a pending placement, on exactly the observed resourceVersion.
type UpdatePlacement struct {
	Placement *evenkeel.ReplicaPlacement
}

// AssignAdopted writes the assignment of a placement that adopts a replica, on exactly the observed resourceVersion.
type AssignAdopted struct {
	Placement  *evenkeel.ReplicaPlacement
	Assignment evenkeel.Assignment
}

// SetPlacementStatus makes the manager's own conditions, and the move report, exactly these.
type SetPlacementStatus struct {
	Placement  *evenkeel.ReplicaPlacement
	Conditions []metav1.Condition
	Move       *evenkeel.Move
	// AbsentReplica, if set, names a replica that an uncached read must not find.
	AbsentReplica string
}

// SparePlacement takes back that a placement is preempted, on exactly the observed UID and resourceVersion.
type SparePlacement struct {
	Placement *evenkeel.ReplicaPlacement
}

// DeletePlacement deletes a placement, on exactly the observed UID and resourceVersion.
type DeletePlacement struct {
	Placement *evenkeel.ReplicaPlacement
	// AbsentReplica, if set, names a replica that an uncached read must not find.
	AbsentReplica string
	Why           string
}

// CreateReplica creates a replica that nobody has seen yet. An uncached read must first find its placement with the
// same UID, neither leaving nor over nor being deleted.
type CreateReplica struct {
	Placement *evenkeel.ReplicaPlacement
	Replica   *modelplane.ModelReplica
}

// UpdateReplica brings a replica to what its placement and the template say.
type UpdateReplica struct {
	Placement *evenkeel.ReplicaPlacement
	Observed  *modelplane.ModelReplica
	Replica   *modelplane.ModelReplica
	// Fields that differ.
	Fields []string
	// Drifted tells that the template asks for what it asked for before, so that somebody else changed the replica.
	Drifted bool
}

// DeleteReplica deletes a replica, on exactly the observed UID.
type DeleteReplica struct {
	Replica *modelplane.ModelReplica
	Cause   string
	// Target, if set, is the placement of the replacement: an uncached read must find it with the same UID, neither leaving
	// nor being deleted.
	Target *evenkeel.ReplicaPlacement
	// Serving, if set, is the replacement: an uncached read must find it with the same UID, ready and not being deleted.
	Serving *modelplane.ModelReplica
	// AbsentEndpoint, if set, names an endpoint that an uncached read must not find.
	AbsentEndpoint string
}

// ApplyEndpoint makes an endpoint exist as given.
type ApplyEndpoint struct {
	// Observed is the endpoint as it is, nil if there is none.
	Observed *modelplane.ModelEndpoint
	Endpoint *modelplane.ModelEndpoint
}

// DeleteEndpoint deletes an endpoint, on exactly the observed UID.
type DeleteEndpoint struct {
	Endpoint *modelplane.ModelEndpoint
}

// HurryService asks whoever composes a ModelService to look at its endpoints now.
type HurryService struct {
	Service *modelplane.ModelService
	At      time.Time
}

func (CreatePlacement) isAction()    {}
func (UpdatePlacement) isAction()    {}
func (AssignAdopted) isAction()      {}
func (SetPlacementStatus) isAction() {}
func (SparePlacement) isAction()     {}
func (DeletePlacement) isAction()    {}
func (CreateReplica) isAction()      {}
func (UpdateReplica) isAction()      {}
func (DeleteReplica) isAction()      {}
func (ApplyEndpoint) isAction()      {}
func (DeleteEndpoint) isAction()     {}
func (HurryService) isAction()       {}

func (a CreatePlacement) String() string {
	s := "create placement " + a.Placement.Name
	if a.Placement.Spec.Replaces != "" {
		s += " for " + a.Placement.Spec.Replaces
	}
	if a.Placement.Spec.Surge {
		s += ", surge"
	}
	if a.Placement.Spec.Adopts != "" {
		s += " adopting " + a.Placement.Spec.Adopts
	}
	return s
}

func (a UpdatePlacement) String() string { return "update placement " + a.Placement.Name }

func (a AssignAdopted) String() string {
	return fmt.Sprintf("assign placement %s to %s/%d", a.Placement.Name, a.Assignment.ClusterName, a.Assignment.Index)
}

func (a SetPlacementStatus) String() string {
	s := "mark placement " + a.Placement.Name
	for _, c := range a.Conditions {
		s += fmt.Sprintf(" %s=%s/%s", c.Type, c.Status, c.Reason)
	}
	if a.Move != nil {
		s += " step=" + a.Move.Step
	}
	return s
}

func (a SparePlacement) String() string {
	return fmt.Sprintf("spare placement %s: %s/%s does not wait for its nodes any more",
		a.Placement.Name, a.Placement.Status.PreemptedBy.Namespace, a.Placement.Status.PreemptedBy.Name)
}

func (a DeletePlacement) String() string {
	return fmt.Sprintf("delete placement %s: %s", a.Placement.Name, a.Why)
}

func (a CreateReplica) String() string {
	return fmt.Sprintf("create replica %s on %s", a.Replica.Name, a.Replica.Spec.ClusterName)
}

func (a UpdateReplica) String() string {
	return fmt.Sprintf("update replica %s: %v", a.Replica.Name, a.Fields)
}

func (a DeleteReplica) String() string {
	return fmt.Sprintf("delete replica %s: %s", a.Replica.Name, a.Cause)
}

func (a ApplyEndpoint) String() string { return "apply endpoint " + a.Endpoint.Name }

func (a DeleteEndpoint) String() string { return "delete endpoint " + a.Endpoint.Name }

func (a HurryService) String() string {
	return "hurry service " + a.Service.Namespace + "/" + a.Service.Name
}

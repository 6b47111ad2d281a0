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

package v1alpha1

// DefaultSchedulerName is the scheduler name by which a ModelDeployment asks for Evenkeel, and the name of the hub
// scheduler's default profile.
const DefaultSchedulerName = "evenkeel"

// Annotations of ModelDeployments on hubs whose schema has no field for them. A field wins where it exists.
const (
	// AnnotationSchedulerName stands for spec.template.spec.schedulerName.
	AnnotationSchedulerName = "evenkeel.io/scheduler-name"
	// AnnotationPriorityClass stands for spec.template.spec.priorityClassName.
	AnnotationPriorityClass = "evenkeel.io/priority-class"
	// AnnotationTolerationSeconds stands for tolerationSeconds of the template's tolerations: a JSON object from a
	// toleration's key to seconds, such as {"modelplane.ai/maintenance": 300}. The empty key is that of a toleration
	// without one.
	AnnotationTolerationSeconds = "evenkeel.io/toleration-seconds"
)

// AnnotationTaintsSince of an InferenceCluster stands for timeAdded of its taints, on hubs whose schema has no such
// field: a JSON list with an entry for each NoExecute taint, such as
//
//	[{"key": "modelplane.ai/maintenance", "value": "", "effect": "NoExecute", "since": "2026-03-01T12:00:00Z"}]
//
// internal/placement reads and writes it (ParseTaintsSince, FormatTaintsSince). A taint's own timeAdded wins.
const AnnotationTaintsSince = "evenkeel.io/taints-since"

// AnnotationDrainReason of an InferenceCluster says in a person's words why it is cordoned or drained. Nothing reads it
// but people.
const AnnotationDrainReason = "evenkeel.io/drain-reason"

// LabelDeployment of a ReplicaPlacement names the ModelDeployment that it belongs to.
const LabelDeployment = "evenkeel.io/deployment"

// AnnotationRejectedClusters of a ReplicaPlacement lists, with commas, the excluded clusters for which the API server
// refused the slot's ModelReplica. They are tried again after a while.
const AnnotationRejectedClusters = "evenkeel.io/rejected-clusters"

// AnnotationTrafficWithdrawnAt of a ModelEndpoint says since when (RFC 3339) requests are kept off its replica, which is
// about to be deleted: the labels by which ModelServices select the endpoint are gone.
const AnnotationTrafficWithdrawnAt = "evenkeel.io/traffic-withdrawn-at"

// Condition types of a ReplicaPlacement.
const (
	// ConditionScheduled tells whether the placement has a cluster. Written by the hub scheduler.
	ConditionScheduled = "Scheduled"
	// ConditionReady tells whether the placement's replica is ready. Once it is set, the replica has been seen to exist.
	ConditionReady = "Ready"
	// ConditionDisruptionTarget tells that the placement's replica must leave its cluster, and why.
	ConditionDisruptionTarget = "DisruptionTarget"
	// ConditionServing tells whether requests reach the placement's replica. On hubs with ModelServices and HTTPRoutes
	// only: on others a replica serves when it is ready.
	ConditionServing = "Serving"
	// ConditionTrafficWithdrawn tells that requests are kept off the replica, which is about to be deleted, where the
	// routes take long to go: False while one names it, True when none does.
	ConditionTrafficWithdrawn = "TrafficWithdrawn"
	// ConditionTaintSeenPrefix begins the types of conditions that remember since when a taint has been seen that does
	// not say when it was added, for a deployment that tolerates it for a limited time. What follows is a hash of the
	// taint, which the message names.
	ConditionTaintSeenPrefix = "TaintSeen-"
	// ConditionMoved tells that the placement is over: its replica is gone.
	ConditionMoved = "Moved"
	// ConditionReplicaRejected tells that the placement's ModelReplica could not be created, and why.
	ConditionReplicaRejected = "ReplicaRejected"
)

// Reasons of the condition Ready of a ReplicaPlacement.
const (
	// ReasonReplicaReady is a replica that is ready.
	ReasonReplicaReady = "ReplicaReady"
	// ReasonReplicaNotReady is a replica that still loads, or has stopped to serve.
	ReasonReplicaNotReady = "ReplicaNotReady"
	// ReasonReplicaTerminating is a replica that is being deleted.
	ReasonReplicaTerminating = "ReplicaTerminating"
	// ReasonReplicaGone is a replica that is not there any more.
	ReasonReplicaGone = "ReplicaGone"
)

// Reasons of the condition Serving.
const (
	// ReasonRouted is a replica that a route names.
	ReasonRouted = "Routed"
	// ReasonNotSelected is a ready replica that no ModelService selects, so that there is no route to wait for.
	ReasonNotSelected = "NotSelected"
	// ReasonNotRouted is a replica that is not ready, or that no route names yet.
	ReasonNotRouted = "NotRouted"
)

// Reasons of the condition TrafficWithdrawn.
const (
	// ReasonWithdrawing is a replica that routes may still name.
	ReasonWithdrawing = "Withdrawing"
	// ReasonNoRoute is a replica that no route names any more; it runs on for a while to end what it has begun.
	ReasonNoRoute = "NoRoute"
)

// Reason of the condition TaintSeen-.
const (
	// ReasonNoTimeAdded is a taint that does not say when it was added.
	ReasonNoTimeAdded = "NoTimeAdded"
)

// Reasons of the condition ReplicaRejected.
const (
	// ReasonRefused is a ModelReplica that the API server refused.
	ReasonRefused = "Refused"
	// ReasonNameTaken is a ModelReplica's name that another owner's object has.
	ReasonNameTaken = "NameTaken"
)

// Steps of a move, in their order.
const (
	// StepWaiting waits for its turn.
	StepWaiting = "Waiting"
	// StepPlacing waits for the scheduler's verdict on the replacement.
	StepPlacing = "Placing"
	// StepUnplaceable has no destination for the time being.
	StepUnplaceable = "Unplaceable"
	// StepWithdrawing waits for requests to be kept off the replica.
	StepWithdrawing = "Withdrawing"
	// StepDeleting waits for the replica to be gone.
	StepDeleting = "Deleting"
	// StepLoading waits for the replacement to be ready.
	StepLoading = "Loading"
	// StepMoved is a placement whose replica is gone.
	StepMoved = "Moved"
	// StepServing is the end of the move: the replacement is ready.
	StepServing = "Serving"
)

// Reasons in status.move for which a replica that must leave a cluster is still there.
const (
	// LeavingMoving is a replica whose move has begun, or is about to.
	LeavingMoving = "Moving"
	// LeavingBudget is a replica that waits until other moves have ended.
	LeavingBudget = "WaitingForBudget"
	// LeavingUnplaceable is a replica for which no cluster has room.
	LeavingUnplaceable = "NothingFits"
	// LeavingTolerating is a replica whose deployment tolerates the taint for a time that is not over.
	LeavingTolerating = "Tolerating"
	// LeavingPaused is a replica whose move a policy has paused.
	LeavingPaused = "Paused"
	// LeavingNotServing is a replica whose replacement did not get to serve; the next try is due later.
	LeavingNotServing = "FailingToServe"
	// LeavingUnmanaged is a replica that is not Evenkeel's to move. It is not written to placements.
	LeavingUnmanaged = "Unmanaged"
)

// ConditionDrained of an InferenceCluster tells whether the replicas that a NoExecute taint sends away have left. A cluster
// without such a taint does not have it.
const ConditionDrained = "Drained"

// Reasons of the condition Drained.
const (
	// ReasonDrained is a cluster on which no replica is left that must leave.
	ReasonDrained = "Drained"
	// ReasonReplicasLeft is a cluster on which some are left.
	ReasonReplicasLeft = "ReplicasLeft"
)

// Reasons of the condition Scheduled.
const (
	// ReasonScheduled is set with the assignment.
	ReasonScheduled = "Scheduled"
	// ReasonUnschedulable is kube-scheduler's reason for a pod that fits nowhere.
	ReasonUnschedulable = "Unschedulable"
	// ReasonAdopted is set where the replica was there before the placement.
	ReasonAdopted = "Adopted"
)

// Reasons of the condition DisruptionTarget: the causes for which a replica leaves.
const (
	// CauseTaint is a NoExecute taint that the deployment does not tolerate.
	CauseTaint = "UntoleratedTaint"
	// CauseClusterDeleted is a cluster that is not there any more.
	CauseClusterDeleted = "ClusterDeleted"
	// CauseSelector is a cluster that the deployment's selector does not select any more.
	CauseSelector = "ClusterNotSelected"
	// CausePool is a node pool that is gone, or whose devices do not match any more.
	CausePool = "PoolLost"
	// CauseTemplate is a template that the replica cannot be brought to in place.
	CauseTemplate = "TemplateChanged"
	// CauseReplicaDeleted is a replica that somebody else deleted.
	CauseReplicaDeleted = "ReplicaDeleted"
	// CauseScaleDown is a replica more than wanted.
	CauseScaleDown = "ScaleDown"
	// CauseDegraded is a cluster that has not been ready for longer than degradedAfter allows.
	CauseDegraded = "ClusterDegraded"
	// CausePreempted is a placement of higher priority, or of a team below its quota's minimum, that needs the nodes and is
	// nominated to the cluster.
	CausePreempted = "Preempted"
	// CauseNotServing is a replacement that has not served within readyTimeout, and is taken back.
	CauseNotServing = "ReplacementNotServing"
	// CauseTolerating, with status Unknown, is a NoExecute taint that the deployment tolerates for a time that is not
	// over.
	CauseTolerating = "Tolerating"
)

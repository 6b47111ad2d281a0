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

package guarded

import (
	"errors"
	"maps"
	"strings"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
	"github.com/evenkeel-io/evenkeel/internal/trafficmap"
)

// What OME's traffic commands say about a service that they do not change.
const (
	messageBounds      = trafficdrain.MessageBounds
	messageOtherTarget = "action target response does not match exact request"
	messagePlacement   = "action refused: placement sources and derived services cannot be mutated"
	messageNotEligible = "traffic action refused: target is not eligible for cross-cluster traffic routing"
	messageIdentity    = "action refused: target identity is missing or unsafe"
	messageDeleted     = "action refused: target is being deleted"
	messageInspection  = "action refused: safety inputs exceed inspection bounds"
)

// Plan is a change that may be sent.
type Plan struct {
	// Service is the one that was read; the patch holds for exactly this one.
	Service *Service
	trafficdrain.Change
	// AllowBlackout tells the guard of Evenkeel's hubs that this very drain may leave the
	// service without traffic. OME's commands never set it.
	AllowBlackout bool
}

// PlanDrain plans to add a drain. It refuses, in this order: an object that is too large, a
// derived copy, a service that is not routed, one without a safe identity, one that is being
// deleted, and then what trafficdrain.Add refuses. The error is a *cli.Error.
func PlanDrain(s *Service, drain trafficdrain.Drain) (*Plan, error) {
	return plan(s, func(v trafficdrain.Value) (trafficdrain.Change, error) { return trafficdrain.Add(v, drain) })
}

// PlanUndrain plans to take a drain away; it refuses as PlanDrain does.
func PlanUndrain(s *Service, id string) (*Plan, error) {
	return plan(s, func(v trafficdrain.Value) (trafficdrain.Change, error) { return trafficdrain.Remove(v, id) })
}

func plan(s *Service, change func(trafficdrain.Value) (trafficdrain.Change, error)) (*Plan, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	c, err := change(s.Drains())
	if err != nil {
		return nil, Refusal(err)
	}
	after := maps.Clone(s.Annotations)
	if after == nil {
		after = map[string]string{}
	}
	delete(after, trafficdrain.AnnotationKey)
	if c.Value.Present {
		after[trafficdrain.AnnotationKey] = c.Value.Raw
	}
	if err := trafficdrain.CheckMetadata(after, s.Labels, s.Finalizers); err != nil {
		return nil, Refusal(err)
	}
	return &Plan{Service: s, Change: c}, nil
}

// Refusal keeps OME's words as the message and puts numbers and cure into the cause.
func Refusal(err error) error {
	var r *trafficdrain.Refusal
	if !errors.As(err, &r) {
		return err
	}
	return &cli.Error{Message: r.Error(), Cause: OneLine(strings.TrimPrefix(r.Explain(), r.Safe()+": "))}
}

// check applies the rules about the service itself.
func (s *Service) check() error {
	for _, rule := range []func() error{
		func() error { return Refusal(trafficdrain.CheckObject(s.raw)) },
		func() error { return Refusal(trafficdrain.CheckMetadataCounts(s.Annotations, s.Labels, s.Finalizers)) },
		s.checkNotDerived,
		s.checkEligible,
		func() error { return Refusal(trafficdrain.CheckMetadataBytes(s.Annotations, s.Labels, s.Finalizers)) },
		s.checkIdentity,
		s.checkStays,
		s.checkInspection,
		s.checkNoPlacementKeys,
	} {
		if err := rule(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) checkNotDerived() error {
	if trafficdrain.IsDerivedCopy(s.Labels, s.Annotations) {
		return &cli.Error{Message: messagePlacement,
			Cause: "it is a copy that placement made on a workload cluster. Switch to the context of the control-plane cluster"}
	}
	return nil
}

func (s *Service) checkEligible() error {
	if !trafficmap.Eligible(&s.InferenceService) {
		return &cli.Error{Message: messageNotEligible,
			Cause: "it is not placed over several clusters. Set spec.placement.requirements or spec.placement.clusterSelector first"}
	}
	return nil
}

func (s *Service) checkIdentity() error {
	unsafe := func(what string) error {
		return &cli.Error{Message: messageIdentity, Cause: "its " + what + " is missing or not safe to repeat"}
	}
	switch {
	case !trafficdrain.SafeScalar(string(s.UID)):
		return unsafe("metadata.uid")
	case !trafficdrain.SafeScalar(s.ResourceVersion):
		return unsafe("metadata.resourceVersion")
	case s.Generation <= 0:
		return unsafe("metadata.generation")
	}
	return nil
}

func (s *Service) checkStays() error {
	if s.DeletionTimestamp != nil {
		return &cli.Error{Message: messageDeleted, Cause: "its traffic ends with it; nothing is left to drain"}
	}
	return nil
}

// checkNoPlacementKeys refuses marks of placement in unusual places.
func (s *Service) checkNoPlacementKeys() error {
	for _, key := range []string{v1beta1.PlacementOriginLabel, v1beta1.PlacementControlPlaneLabel, v1beta1.PlacementOriginUIDAnnotation} {
		_, label := s.Labels[key]
		_, annotation := s.Annotations[key]
		if label || annotation {
			return &cli.Error{Message: messagePlacement, Cause: "it has the key " + key + ", which marks a copy that placement made"}
		}
	}
	for _, key := range []string{v1beta1.AcceleratorRequirementsKey, v1beta1.ClusterSelectorKey} {
		if _, label := s.Labels[key]; label {
			return &cli.Error{Message: messagePlacement, Cause: "it has the label " + key + ". Make it an annotation, or use spec.placement"}
		}
	}
	return nil
}

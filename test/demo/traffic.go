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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// awaitRoute waits until the ModelService of a deployment's name has found an
// endpoint for each of its replicas: its route is recomputed on a cycle.
func (s *stage) awaitRoute(ctx context.Context, name string) error {
	service, deployment := &modelplane.ModelService{}, &modelplane.ModelDeployment{}
	key := types.NamespacedName{Namespace: namespace, Name: name}
	err := wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		if err := s.client.Get(ctx, key, service); err != nil {
			return false, err
		}
		if err := s.client.Get(ctx, key, deployment); err != nil {
			return false, err
		}
		resolved := meta.FindStatusCondition(service.Status.Conditions, "EndpointsResolved")
		return resolved != nil && resolved.Message == fmt.Sprintf("Matched %d endpoint(s)", deployment.Spec.Replicas), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the route of ModelService %s: %w; its conditions: %v", key, err, service.Status.Conditions)
	}
	return nil
}

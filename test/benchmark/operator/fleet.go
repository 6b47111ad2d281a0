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

package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
	"github.com/evenkeel-io/evenkeel/test/benchmark/programs"
)

const (
	namespace = programs.FleetNamespace
	// settleInterval is how often it is asked whether the fleet is at rest, and settleTimeout for how long.
	settleInterval = 2 * time.Second
	settleTimeout  = 10 * time.Minute
)

// drainedCluster is the one that is drained: by its name it is the first choice of each deployment, so that it is full.
var drainedCluster = programs.ClusterName(0)

// engineArgs are what deployments have and a plan carries along.
const engineArgs = "--max-model-len=16384"

// fill makes the fleet, has the programs place its replicas, and ends them.
func fill(ctx context.Context, environment *harness.Environment, cp *controlplane.ControlPlane, s shape, folder string) (err error) {
	c, err := prepare(ctx, environment, cp)
	if err != nil {
		return err
	}
	err = harness.InParallel(ctx, s.clusters, func(ctx context.Context, i int) error {
		return programs.CreateCluster(ctx, c, i, s.nodes(i))
	})
	if err != nil {
		return fmt.Errorf("create the clusters: %w", err)
	}
	stopStandIn, err := programs.StartStandIn(ctx, cp.Config())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopStandIn()) }()
	running, err := programs.Start(ctx, environment, cp, folder)
	if err != nil {
		return err
	}
	defer running.Stop(ctx)
	err = harness.InParallel(ctx, s.deployments, func(ctx context.Context, i int) error {
		return programs.CreateDeployment(ctx, c, i, s.replicas, engineArgs)
	})
	if err != nil {
		return fmt.Errorf("create the deployments: %w", err)
	}
	return awaitRest(ctx, c, running, s)
}

func prepare(ctx context.Context, environment *harness.Environment, cp *controlplane.ControlPlane) (client.Client, error) {
	if err := cp.InstallCRDs(ctx, environment.Manifest("hub", "crds"), environment.Manifest("dev", "crds")); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), evenkeel.AddToScheme(scheme), modelplane.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(cp.Config(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	return c, programs.Grant(ctx, environment, c)
}

// awaitRest waits until every replica serves and all has been said about it.
func awaitRest(ctx context.Context, c client.Client, running *programs.Programs, s shape) error {
	said := ""
	err := wait.PollUntilContextTimeout(ctx, settleInterval, settleTimeout, false, func(ctx context.Context) (bool, error) {
		if err := running.Check(); err != nil {
			return false, err
		}
		var err error
		said, err = unrest(ctx, c, s)
		return said == "", err
	})
	if err != nil {
		return fmt.Errorf("the fleet does not come to rest: %s: %w", said, err)
	}
	return nil
}

// unrest says what is still to be done, or nothing.
func unrest(ctx context.Context, c client.Client, s shape) (string, error) {
	deployments := &modelplane.ModelDeploymentList{}
	if err := c.List(ctx, deployments, client.InNamespace(namespace)); err != nil {
		return "", err
	}
	for i := range deployments.Items {
		if d := &deployments.Items[i]; d.Status.Replicas == nil || d.Status.Replicas.Ready != d.Spec.Replicas {
			return d.Name + " has not all its replicas", nil
		}
	}
	placements := &evenkeel.ReplicaPlacementList{}
	if err := c.List(ctx, placements, client.InNamespace(namespace)); err != nil {
		return "", err
	}
	onFirst := 0
	for i := range placements.Items {
		p := &placements.Items[i]
		if !meta.IsStatusConditionTrue(p.Status.Conditions, evenkeel.ConditionReady) {
			return p.Name + " is not ready", nil
		}
		if p.Status.Assignment != nil && p.Status.Assignment.ClusterName == drainedCluster {
			onFirst++
		}
	}
	if len(placements.Items) != s.all() || onFirst != s.drained {
		return fmt.Sprintf("there are %d placements of %d, and %d of %d on %s", len(placements.Items), s.all(), onFirst, s.drained, drainedCluster), nil
	}
	return "", nil
}

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

package placement

import (
	"context"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// Names of the sides, as in the results.
const (
	kubeName = "kube"
	hubName  = "hub"
)

// side is one of the two schedulers, with what it places and where to.
type side interface {
	name() string
	// binary of the scheduler, relative to the folder of binaries.
	binary() string
	// user that the scheduler is: the one it has on a real cluster, with the same
	// rights.
	user() string
	// credentials by which it authenticates, of the kind that it has on a real cluster.
	credentials(context.Context, *controlplane.ControlPlane) (*rest.Config, error)
	// prepare makes the API server know the kinds and rights that the side needs.
	prepare(context.Context, *harness.Environment, *controlplane.ControlPlane, client.Client) error
	// createTarget creates the i-th cluster or node, ready for placements.
	createTarget(ctx context.Context, c client.Client, i int) error
	// createReplica creates the object that stands for a replica and is to be placed.
	createReplica(ctx context.Context, c client.Client, r replica) error
	// isCreate tells whether a request was createReplica's, isBind whether it may
	// have bound such an object.
	isCreate(*harness.Request) bool
	isBind(*harness.Request) bool
	// verify checks where everything landed. The error wraps errUnplaced if not
	// everything is placed yet.
	verify(ctx context.Context, c client.Client, s shape) error
}

// bothSides lists the sides in the order in which they alternate.
func bothSides() []side {
	return []side{kubeSide{}, hubSide{}}
}

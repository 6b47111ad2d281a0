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

package cluster

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
)

var (
	clusters    = modelplane.GroupVersion.WithResource("inferenceclusters")
	replicas    = modelplane.GroupVersion.WithResource("modelreplicas")
	deployments = modelplane.GroupVersion.WithResource("modeldeployments")
	placements  = evenkeel.GroupVersion.WithResource("replicaplacements")
	policies    = evenkeel.GroupVersion.WithResource("disruptionpolicies")
)

// oneCluster checks that a command has got the name of a cluster.
func oneCluster(f *cli.Factory) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s takes the name of one cluster, not %d; `%s get clusters` lists them", cmd.CommandPath(), len(args), f.Program)
		}
		return nil
	}
}

// read gets a cluster, and says where to look if there is none of the name.
func read(ctx context.Context, f *cli.Factory, client *cli.Client, name string) (*modelplane.InferenceCluster, error) {
	cluster, err := cli.Get[modelplane.InferenceCluster](ctx, client, clusters, "", name)
	switch {
	case apierrors.IsNotFound(err) && !cli.NotServed(err):
		return nil, &cli.Error{Message: fmt.Sprintf("no InferenceCluster is called %q; `%s get clusters` lists them", name, f.Program)}
	case err != nil:
		return nil, fmt.Errorf("read InferenceCluster %s: %w", name, err)
	}
	return cluster, nil
}

// count says how many there are of something.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

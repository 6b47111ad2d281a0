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

package get

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/complete"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
)

// clusters lists InferenceClusters with what is on them.
type clusters struct {
	*cli.Factory
	selector string
	output   string
	now      func() time.Time
}

func newClusters(f *cli.Factory) *cobra.Command {
	o := &clusters{Factory: f, now: time.Now}
	cmd := &cobra.Command{
		Use:     "clusters [NAME...]",
		Aliases: []string{"cluster", "inferenceclusters", "inferencecluster", "ic"},
		Short:   "Show what clusters have, what is free there, and whether they take replicas",
		Long: `clusters lists InferenceClusters. STATUS is Ready or NotReady, and SchedulingDisabled (a NoSchedule taint), Draining
(a NoExecute taint, and replicas that must leave are still there) or Drained (none of them is). POOLS are node pools as
used/all nodes; what is being deleted uses its nodes until it is gone. A pool that has more in use than it has nodes has
none free.

With -o json, yaml and jsonpath it gives its own numbers, not the InferenceCluster objects: kubectl get has those.`,
		Example: fmt.Sprintf(`  # How the fleet stands
  %[1]s get clusters

  # With the devices of each pool
  %[1]s get clusters -o wide

  # Free nodes of one cluster's pools
  %[1]s get clusters gpu-us-east -o jsonpath='{range .items[*].pools[*]}{.name}={.free}{"\n"}{end}'`, f.Program),
		ValidArgsFunction: complete.Names(f, complete.Clusters),
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.selector, "selector", "l", "", "list those whose labels match")
	flags.StringVarP(&o.output, "output", "o", cli.FormatTable, "table, wide, json, yaml, name or jsonpath=TEMPLATE")
	complete.Flag(cmd, "output", complete.Values(append(cli.Formats(), cli.FormatName, cli.FormatJSONPath)...))
	return cmd
}

func (o *clusters) run(ctx context.Context, names []string) error {
	if err := cli.ValidateOutput(o.output, append(cli.Formats(), cli.FormatName)...); err != nil {
		return err
	}
	if len(names) > 0 && o.selector != "" {
		return fmt.Errorf("names go without --selector")
	}
	list, onClusters, err := o.readBoth(ctx, names)
	if err != nil {
		return err
	}
	return o.print(summarise(list, onClusters))
}

// readBoth reads clusters and replicas at the same time: a person waits for it.
func (o *clusters) readBoth(ctx context.Context, names []string) (list []modelplane.InferenceCluster, onClusters []modelplane.ModelReplica, err error) {
	client, err := o.Client()
	if err != nil {
		return nil, nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		list, err = o.read(ctx, client, names)
		return err
	})
	group.Go(func() (err error) {
		onClusters, err = cli.List[modelplane.ModelReplica](ctx, client, modelplane.GroupVersion.WithResource("modelreplicas"), metav1.NamespaceAll, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list modelreplicas: %w", err)
		}
		return nil
	})
	return list, onClusters, group.Wait()
}

// read gets the clusters that are named, or all that match.
func (o *clusters) read(ctx context.Context, client *cli.Client, names []string) ([]modelplane.InferenceCluster, error) {
	resource := modelplane.GroupVersion.WithResource("inferenceclusters")
	if len(names) == 1 {
		one, err := cli.Get[modelplane.InferenceCluster](ctx, client, resource, "", names[0])
		if err != nil {
			return nil, o.clustersError(err, names[0])
		}
		return []modelplane.InferenceCluster{*one}, nil
	}
	list, err := cli.List[modelplane.InferenceCluster](ctx, client, resource, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: o.selector})
	if err != nil {
		return nil, fmt.Errorf("list inferenceclusters: %w", err)
	}
	if len(names) == 0 {
		return list, nil
	}
	for _, name := range names {
		if !slices.ContainsFunc(list, func(c modelplane.InferenceCluster) bool { return c.Name == name }) {
			return nil, o.clustersError(apierrors.NewNotFound(modelplane.Resource("inferenceclusters"), name), name)
		}
	}
	return slices.DeleteFunc(list, func(c modelplane.InferenceCluster) bool { return !slices.Contains(names, c.Name) }), nil
}

// clustersError says where to look if there is no cluster of a name.
func (o *clusters) clustersError(err error, name string) error {
	if apierrors.IsNotFound(err) && !cli.NotServed(err) {
		return &cli.Error{Message: fmt.Sprintf("no InferenceCluster is called %q; `%s get clusters` lists them", name, o.Program)}
	}
	return fmt.Errorf("read InferenceCluster %s: %w", name, err)
}

// clustersVersion is the apiVersion of the list as JSON and YAML.
const clustersVersion = "cli.evenkeel.io/v1alpha1"

func (o *clusters) print(list []clusterSummary) error {
	if cli.Structured(o.output) {
		return cli.WriteObject(o.Out, o.output, map[string]any{"apiVersion": clustersVersion, "kind": "ClusterSummaryList", "items": list})
	}
	if o.output == cli.FormatName {
		for i := range list {
			if _, err := fmt.Fprintf(o.Out, "inferencecluster.modelplane.ai/%s\n", list[i].Name); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(o.ErrOut, "No clusters found.")
		return err
	}
	return table.Write(o.Out, clusterRows(list, o.output == cli.FormatWide, o.now()))
}

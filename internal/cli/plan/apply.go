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

package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/simulation"
)

// apply is `kubectl evenkeel plan apply`.
type apply struct {
	*options
	files       resource.FilenameOptions
	assumeReady bool
}

func newApply(o *options) *cobra.Command {
	a := &apply{options: o}
	cmd := &cobra.Command{
		Use:   "apply -f FILE|FOLDER",
		Short: "Show what a new or changed deployment, cluster or policy would lead to",
		Long: `plan apply shows what would happen if the objects in files were applied: ModelDeployments, InferenceClusters and
DisruptionPolicies. It leaves objects of other kinds out, and says so. A cluster in the files keeps its taints if the file
has none.

Which node pools a cluster has for replicas is in its status. One that exists keeps the status that it has. A new one has
none, so that nothing lands there: --assume-ready plans as if each cluster in the files were up, with the node pools of its
spec at their largest and the devices of their InferenceClasses, from the files or from the hub. To plan with something
else, put a status into the file: the condition Ready, gateway and gpuPools.`,
		Example: fmt.Sprintf(`  %[1]s plan apply -f deployment.yaml
  cat fleet.yaml | %[1]s plan apply -f -

  # Would one more cluster be enough?
  %[1]s plan apply -f deployment.yaml -f new-cluster.yaml --assume-ready --fail-on unplaceable`, o.Program),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%s takes files with -f, such as -f %s, and nothing else", cmd.CommandPath(), args[0])
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.runFiles(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&a.files.Filenames, "filename", "f", nil, "files or folders with the objects, or addresses of them; - is standard input")
	flags.BoolVarP(&a.files.Recursive, "recursive", "R", false, "take the folders in folders too")
	flags.StringVarP(&a.files.Kustomize, "kustomize", "k", "", "folder with a kustomization")
	flags.BoolVar(&a.assumeReady, "assume-ready", false, "plan as if the clusters in the files were up with the node pools of their spec")
	// It fails only for a flag that is not there.
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	_ = cmd.MarkFlagDirname("kustomize")
	cli.Answers(cmd)
	return cmd
}

func (a *apply) runFiles(ctx context.Context) error {
	if err := a.validate(); err != nil {
		return err
	}
	namespace, explicit, err := a.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return err
	}
	read, err := readObjects(a.In, a.files, space{namespace: namespace, explicit: explicit})
	if err != nil {
		return err
	}
	if len(read.leftOut) > 0 {
		slices.Sort(read.leftOut)
		if err := a.warn("a plan has no use for, and leaves out: " + strings.Join(read.leftOut, ", ")); err != nil {
			return err
		}
	}
	return a.run(ctx, func(client *cli.Client, snapshot *simulation.Snapshot) (simulation.Change, error) {
		if err := a.judgeClusters(ctx, client, read, snapshot); err != nil {
			return nil, err
		}
		return simulation.Apply(read.objects...), nil
	})
}

// judgeClusters says which capacity of the files the plan does not have, or lets it have it.
func (a *apply) judgeClusters(ctx context.Context, client *cli.Client, read *contents, snapshot *simulation.Snapshot) error {
	files := read.clusters()
	if !a.assumeReady {
		for _, said := range withoutCapacity(files, snapshot.Clusters) {
			if err := a.warn(said); err != nil {
				return err
			}
		}
		return nil
	}
	if len(files) == 0 {
		return a.warn("--assume-ready has no effect: the files have no InferenceCluster")
	}
	classes, err := cli.List[modelplane.InferenceClass](ctx, client, modelplane.GroupVersion.WithResource("inferenceclasses"), metav1.NamespaceAll, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list inferenceclasses for --assume-ready: %w", err)
	}
	return assumeReady(files, append(classes, read.classes...))
}

func (a *apply) warn(what string) error {
	_, err := fmt.Fprintf(a.ErrOut, "Warning: %s.\n", what)
	return err
}

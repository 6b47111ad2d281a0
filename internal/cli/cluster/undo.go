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
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/cluster/taints"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// NewUndo makes `kubectl evenkeel undo`.
func NewUndo(f *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "undo",
		Short: "Call off what another command began",
		Args:  cli.Subcommands,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newUndoDrain(f))
	return cmd
}

func newUndoDrain(f *cli.Factory) *cobra.Command {
	c := &change{Factory: f}
	cmd := &cobra.Command{
		Use:   "drain CLUSTER",
		Short: "Lift the taint of a drain, and tell what has moved and what stays",
		Long: `undo drain takes the NoExecute taint away that drain gave a cluster, whoever put it there. Moves that have not begun to
take traffic away are called off and the replica stays. What has moved stays where it is: nothing is moved back. Replicas
that wait for a home may land on the cluster again, unless it is cordoned.`,
		Example: fmt.Sprintf(`  %[1]s undo drain gpu-us-east`, f.Program),
		Args:    oneCluster(f),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.undoDrain(cmd.Context(), args[0]) },
	}
	c.addFlags(cmd)
	return cmd
}

func (c *change) undoDrain(ctx context.Context, name string) error {
	lifted, err := c.lift(ctx, name, modelplane.TaintEffectNoExecute, func(taint modelplane.Taint) string {
		return "is not being drained by " + placement.TaintString(taint)
	})
	if err != nil || lifted == nil {
		return err
	}
	if err := c.say(lifted.before, "drain called off"); err != nil {
		return err
	}
	since, _ := taints.Since(lifted.before, lifted.taint)
	if err := c.tellMoved(ctx, lifted.client, name, since); err != nil {
		return err
	}
	return c.tellOtherTaints(lifted.after)
}

// tellMoved tells what has left the cluster because of a taint since a time, and what is still on it.
func (c *change) tellMoved(ctx context.Context, client *cli.Client, name string, since time.Time) error {
	all, err := cli.List[evenkeel.ReplicaPlacement](ctx, client, placements, metav1.NamespaceAll, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("the taint is lifted, but what has moved cannot be read: list replicaplacements: %w", err)
	}
	onCluster, err := cli.List[modelplane.ModelReplica](ctx, client, replicas, metav1.NamespaceAll,
		metav1.ListOptions{LabelSelector: modelplane.LabelCluster + "=" + name})
	if err != nil {
		return fmt.Errorf("the taint is lifted, but what stays cannot be read: list modelreplicas: %w", err)
	}
	moves := slices.DeleteFunc(movesOf(all, name), func(m Move) bool {
		return m.From != name || m.Cause != evenkeel.CauseTaint || m.Finished.Time.Before(since)
	})
	var ending, staying []string
	for i := range onCluster {
		key := onCluster[i].Namespace + "/" + onCluster[i].Name
		if onCluster[i].DeletionTimestamp != nil {
			ending = append(ending, key)
		} else {
			staying = append(staying, key)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s since the taint was put there; what has moved stays where it is.\n", count(len(moves), "replica has left", "replicas have left"))
	fmt.Fprintf(&b, "%s.\n", listed(staying, "replica stays on "+name, "replicas stay on "+name))
	if len(ending) > 0 {
		fmt.Fprintf(&b, "%s.\n", listed(ending, "replica is ending, too late to be kept", "replicas are ending, too late to be kept"))
	}
	_, err = fmt.Fprint(c.Out, b.String())
	return err
}

// shown is how many names are spelled out in a sentence.
const shown = 5

// listed counts names and spells out the first of them.
func listed(names []string, one, many string) string {
	said := count(len(names), one, many)
	if len(names) == 0 {
		return said
	}
	slices.Sort(names)
	more := ""
	if len(names) > shown {
		more = fmt.Sprintf(" and %d more", len(names)-shown)
	}
	return fmt.Sprintf("%s (%s%s)", said, strings.Join(names[:min(shown, len(names))], ", "), more)
}

// tellOtherTaints says which taints still keep replicas away from a cluster, or send them away.
func (c *change) tellOtherTaints(cluster *modelplane.InferenceCluster) error {
	if c.dryRun == dryRunClient {
		return nil
	}
	for _, t := range placement.Untolerated(nil, cluster.Spec.Taints) {
		what, cure := "keeps new replicas off it", fmt.Sprintf("%s uncordon %s", c.Program, cluster.Name)
		if t.Effect == modelplane.TaintEffectNoExecute {
			what, cure = "sends its replicas away", fmt.Sprintf("%s undo drain %s", c.Program, cluster.Name)
		}
		if t.Key != defaultTaintKey {
			cure += " --taint-key=" + t.Key
		}
		if _, err := fmt.Fprintf(c.Out, "Taint %s of %s still %s; to lift it: %s\n", placement.TaintString(t), cluster.Name, what, cure); err != nil {
			return err
		}
	}
	return nil
}

// others gives the names but one.
func others(names []string, but string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return name == but })
}

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
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/complete"
)

// pausePolicy is the name of the DisruptionPolicy that holds back the moves of a namespace. Of all
// policies the most careful value of a field wins, so that it adds the pause to what the others say
// and takes nothing from them.
const pausePolicy = "kubectl-evenkeel-pause"

// pauseScope says which namespaces are paused or resumed.
type pauseScope struct {
	change
	allNamespaces bool
	cluster       string
}

func (s *pauseScope) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "every namespace that it is about")
	flags.StringVar(&s.cluster, "cluster", "", "every namespace with replicas on this cluster")
	s.addWriteFlags(cmd)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	complete.Flag(cmd, "cluster", complete.Names(s.Factory, complete.Clusters))
}

// NewPause makes `kubectl evenkeel pause`.
func NewPause(f *cli.Factory) *cobra.Command {
	s := &pauseScope{change: change{Factory: f}}
	cmd := &cobra.Command{
		Use:   "pause [-n NAMESPACE | -A | --cluster CLUSTER]",
		Short: "Hold back all moves of a namespace's replicas that have not begun to take traffic away",
		Long: `pause makes a DisruptionPolicy named ` + pausePolicy + ` with paused: true, which selects all deployments of the
namespace. Moves that have begun to take traffic away go on; all others wait, whatever asks for them: drains, edited
selectors, edited templates. A drain does not end while replicas of a paused namespace are on the cluster. To pause some
deployments of a namespace only, write a DisruptionPolicy with their labels.`,
		Example: fmt.Sprintf(`  # Hold back the moves of one team
  %[1]s pause -n ml-team

  # Hold back the drain of a cluster
  %[1]s pause --cluster gpu-us-east`, f.Program),
		Args: noName,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), s.pause, s.pausable) },
	}
	s.addFlags(cmd)
	return cmd
}

// NewResume makes `kubectl evenkeel resume`.
func NewResume(f *cli.Factory) *cobra.Command {
	s := &pauseScope{change: change{Factory: f}}
	cmd := &cobra.Command{
		Use:   "resume [-n NAMESPACE | -A | --cluster CLUSTER]",
		Short: "Let the moves go on that pause holds back",
		Long: `resume deletes the DisruptionPolicy that pause made. It tells of other policies that still hold moves back, and leaves
them alone.`,
		Example: fmt.Sprintf(`  %[1]s resume -n ml-team
  %[1]s resume -A`, f.Program),
		Args: noName,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), s.resume, s.paused) },
	}
	s.addFlags(cmd)
	return cmd
}

// noName says how to name a cluster or a namespace to a command that takes neither as an argument.
func noName(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no name: is it --cluster %[2]s, or -n %[2]s?", cmd.CommandPath(), args[0])
	}
	return nil
}

// act does something about one namespace.
type act func(ctx context.Context, client *cli.Client, namespace string) error

// find gives the namespaces that -A is about.
type find func(ctx context.Context, client *cli.Client) ([]string, error)

func (s *pauseScope) run(ctx context.Context, do act, everywhere find) error {
	if err := s.validate(); err != nil {
		return err
	}
	if s.allNamespaces && s.cluster != "" {
		return fmt.Errorf("--all-namespaces and --cluster exclude each other")
	}
	client, err := s.Client()
	if err != nil {
		return err
	}
	namespaces, err := s.namespaces(ctx, client, everywhere)
	if err != nil {
		return err
	}
	if len(namespaces) == 0 {
		_, err := fmt.Fprintln(s.ErrOut, "No namespace is concerned.")
		return err
	}
	var errs []error
	for _, namespace := range namespaces {
		if err := do(ctx, client, namespace); err != nil {
			errs = append(errs, cli.Prefix("namespace "+namespace, err))
		}
	}
	return errors.Join(errs...)
}

func (s *pauseScope) namespaces(ctx context.Context, client *cli.Client, everywhere find) ([]string, error) {
	switch {
	case s.allNamespaces:
		return everywhere(ctx, client)
	case s.cluster != "":
		if _, err := read(ctx, s.Factory, client, s.cluster); err != nil {
			return nil, err
		}
		return namespacesOf[modelplane.ModelReplica](ctx, client, replicas, modelplane.LabelCluster+"="+s.cluster)
	}
	namespace, err := s.Namespace()
	return []string{namespace}, err
}

// pausable gives the namespaces that have deployments, paused those that have the policy.
func (s *pauseScope) pausable(ctx context.Context, client *cli.Client) ([]string, error) {
	return namespacesOf[modelplane.ModelDeployment](ctx, client, deployments, "")
}

func (s *pauseScope) paused(ctx context.Context, client *cli.Client) ([]string, error) {
	list, err := cli.List[evenkeel.DisruptionPolicy](ctx, client, policies, metav1.NamespaceAll, metav1.ListOptions{FieldSelector: "metadata.name=" + pausePolicy})
	if err != nil {
		return nil, fmt.Errorf("list disruptionpolicies: %w", err)
	}
	names := map[string]bool{}
	for i := range list {
		names[list[i].Namespace] = true
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// namespacesOf gives the namespaces that objects are in.
func namespacesOf[T any, P interface {
	*T
	metav1.Object
}](ctx context.Context, client *cli.Client, resource schema.GroupVersionResource, selector string) ([]string, error) {
	list, err := cli.List[T](ctx, client, resource, metav1.NamespaceAll, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	names := map[string]bool{}
	for i := range list {
		names[P(&list[i]).GetNamespace()] = true
	}
	return slices.Sorted(maps.Keys(names)), nil
}

func (s *pauseScope) pause(ctx context.Context, client *cli.Client, namespace string) error {
	if s.dryRun != dryRunClient {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": evenkeel.GroupVersion.String(),
			"kind":       "DisruptionPolicy",
			"metadata":   map[string]any{"namespace": namespace, "name": pausePolicy},
			"spec":       map[string]any{"selector": map[string]any{}, "paused": true},
		}}
		options := metav1.ApplyOptions{FieldManager: s.manager}
		if s.dryRun == dryRunServer {
			options.DryRun = []string{metav1.DryRunAll}
		}
		if _, err := client.Resource(policies).Namespace(namespace).Apply(ctx, pausePolicy, u, options); err != nil {
			return pauseError(err)
		}
	}
	_, err := fmt.Fprintf(s.Out, "namespace/%s moves paused%s\n", namespace, s.dryRunNote())
	return err
}

func pauseError(err error) error {
	if apierrors.IsConflict(err) {
		return &cli.Error{Message: fmt.Sprintf("DisruptionPolicy %s is written by somebody else too; nothing was written", pausePolicy), Cause: err.Error(), Code: cli.ExitConflict}
	}
	return fmt.Errorf("write DisruptionPolicy %s: %w", pausePolicy, err)
}

func (s *pauseScope) resume(ctx context.Context, client *cli.Client, namespace string) error {
	what := "moves go on"
	if s.dryRun != dryRunClient {
		options := metav1.DeleteOptions{}
		if s.dryRun == dryRunServer {
			options.DryRun = []string{metav1.DryRunAll}
		}
		err := client.Resource(policies).Namespace(namespace).Delete(ctx, pausePolicy, options)
		switch {
		case apierrors.IsNotFound(err):
			what = "was not paused by this command"
		case err != nil:
			return fmt.Errorf("delete DisruptionPolicy %s: %w", pausePolicy, err)
		}
	}
	if _, err := fmt.Fprintf(s.Out, "namespace/%s %s%s\n", namespace, what, s.dryRunNote()); err != nil {
		return err
	}
	return s.tellOtherPauses(ctx, client, namespace)
}

// tellOtherPauses names the policies by which moves are still held back.
func (s *pauseScope) tellOtherPauses(ctx context.Context, client *cli.Client, namespace string) error {
	list, err := cli.List[evenkeel.DisruptionPolicy](ctx, client, policies, namespace, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list disruptionpolicies: %w", err)
	}
	var names []string
	for i := range list {
		if paused := list[i].Spec.Paused; paused != nil && *paused && list[i].Name != pausePolicy {
			names = append(names, list[i].Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	_, err = fmt.Fprintf(s.Out, "Deployments there that these DisruptionPolicies select stay paused: %s\n", strings.Join(names, ", "))
	return err
}

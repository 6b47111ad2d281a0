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
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/cluster/taints"
	"github.com/evenkeel-io/evenkeel/internal/cli/complete"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

const (
	// defaultTaintKey is the key of the taints that the commands write.
	defaultTaintKey = "modelplane.ai/maintenance"
	// defaultManager is the field manager of what the commands write.
	defaultManager = "kubectl-evenkeel"
)

// Values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// change is what the verbs share that write a taint.
type change struct {
	*cli.Factory
	taintKey string
	manager  string
	dryRun   string
}

func (c *change) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.taintKey, "taint-key", defaultTaintKey, "key of the taint")
	c.addWriteFlags(cmd)
	cmd.ValidArgsFunction = complete.First(complete.Names(c.Factory, complete.Clusters))
}

// addWriteFlags adds kubectl's flags about writing.
func (c *change) addWriteFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.manager, "field-manager", defaultManager, "name under which the change is written")
	flags.StringVar(&c.dryRun, "dry-run", dryRunNone, "none, client (send nothing) or server (let the API server check, store nothing)")
	flags.Lookup("dry-run").NoOptDefVal = dryRunClient
	complete.Flag(cmd, "dry-run", complete.Values(dryRunNone, dryRunClient, dryRunServer))
}

// validate checks the flags before anything is asked of the API server.
func (c *change) validate() error {
	switch c.dryRun {
	case dryRunNone, dryRunClient, dryRunServer:
	default:
		return fmt.Errorf("--dry-run must be none, client or server, not %q", c.dryRun)
	}
	if c.manager == "" {
		return fmt.Errorf("--field-manager must not be empty")
	}
	return nil
}

func (c *change) validateTaint() error {
	if err := cli.ValidateTaintKey(c.taintKey); err != nil {
		return err
	}
	return c.validate()
}

func (c *change) taint(effect modelplane.TaintEffect) modelplane.Taint {
	return modelplane.Taint{Key: c.taintKey, Effect: effect}
}

func (c *change) writer(client *cli.Client) taints.Writer {
	return taints.Writer{Client: client, Manager: c.manager, DryRun: c.dryRun == dryRunServer}
}

// dryRunNote is what follows a message about what was not stored, as kubectl says it.
func (c *change) dryRunNote() string {
	switch c.dryRun {
	case dryRunClient:
		return " (dry run)"
	case dryRunServer:
		return " (server dry run)"
	default:
		return ""
	}
}

// add puts a taint on a cluster, unless the command is only to say what it would do.
func (c *change) add(ctx context.Context, client *cli.Client, cluster *modelplane.InferenceCluster, taint modelplane.Taint, reason string) (*modelplane.InferenceCluster, error) {
	if c.dryRun == dryRunClient {
		return cluster, nil
	}
	after, err := c.writer(client).Add(ctx, cluster, taint, reason)
	return after, writeError(cluster, taint, err)
}

func (c *change) remove(ctx context.Context, client *cli.Client, cluster *modelplane.InferenceCluster, taint modelplane.Taint) (*modelplane.InferenceCluster, error) {
	if c.dryRun == dryRunClient {
		return cluster, nil
	}
	after, err := c.writer(client).Remove(ctx, cluster, taint)
	return after, writeError(cluster, taint, err)
}

// writeError says what to do about a taint that could not be written.
func writeError(cluster *modelplane.InferenceCluster, taint modelplane.Taint, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err):
		return &cli.Error{
			Message: fmt.Sprintf("InferenceCluster %s was changed by somebody else at the same time; nothing was written. Look at it and run the command again", cluster.Name),
			Cause:   err.Error(), Code: cli.ExitConflict,
		}
	case apierrors.IsForbidden(err):
		return &cli.Error{
			Message: fmt.Sprintf("you may not change the taints of InferenceCluster %s: that needs the verb patch on inferenceclusters.modelplane.ai", cluster.Name),
			Cause:   err.Error(),
		}
	default:
		return fmt.Errorf("write taint %s of InferenceCluster %s: %w", placement.TaintString(taint), cluster.Name, err)
	}
}

// warnOfOwners warns of managers that write the cluster's taints too: what keeps them in files may
// undo the change.
func (c *change) warnOfOwners(cluster *modelplane.InferenceCluster, names []string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(c.ErrOut, "Warning: %s also keeps the taints of InferenceCluster %s. If it applies them from files, it may undo this; make the same change there.\n",
		strings.Join(names, ", "), cluster.Name)
	return err
}

// say prints a line about the cluster as kubectl does.
func (c *change) say(cluster *modelplane.InferenceCluster, what string) error {
	_, err := fmt.Fprintf(c.Out, "inferencecluster.modelplane.ai/%s %s%s\n", cluster.Name, what, c.dryRunNote())
	return err
}

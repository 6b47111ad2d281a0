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

package traffic

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/guarded"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

const (
	actionDrain   = "traffic drain"
	actionUndrain = "traffic undrain"

	// actionLimit bounds a command, the time that its prompt waits included.
	actionLimit = 45 * time.Second
)

// action is a guarded change of one service: drain or undrain.
type action struct {
	*cli.Factory
	name   string
	drain  trafficdrain.Drain // of undrain only the ID
	yes    bool
	dryRun string
	output string
	// allowBlackout is Evenkeel's only.
	allowBlackout bool

	// validate checks what the flags say about the drain.
	validate func() error
	// plan makes the change.
	plan func(*guarded.Service) (*guarded.Plan, error)
}

func (a *action) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.drain.ID, "id", "", "DNS-1123 label that names the drain (required)")
	flags.BoolVar(&a.yes, "yes", false, "confirm the exact preview without an interactive prompt")
	flags.StringVar(&a.dryRun, "dry-run", dryRunNone, "none, client (check here, send nothing) or server (let the API server check, store nothing)")
	flags.StringVarP(&a.output, "output", "o", cli.FormatTable, "table, wide, json or yaml")
	completeModes(cmd)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &cli.Error{Message: "invalid traffic action flags; use --help", Cause: guarded.OneLine(err.Error())}
	})
}

const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// target says which service of which cluster an action is about.
type target struct {
	context, namespace, name string
}

func (a *action) run(ctx context.Context, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, actionLimit)
	defer cancel()
	t, err := a.complete(args)
	if err != nil {
		return err
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	service, err := client.Read(ctx, t.namespace, t.name)
	if err != nil {
		return err
	}
	plan, err := a.plan(service)
	if err != nil {
		return err
	}
	if err := a.preview(t, plan); err != nil {
		return &cli.Error{Message: "write traffic action preview failed", Cause: err.Error()}
	}
	if !a.yes {
		if err := confirm(ctx, a.In, a.ErrOut); err != nil {
			return err
		}
	}
	if a.dryRun != dryRunClient {
		if err := client.Send(ctx, plan, a.dryRun == dryRunServer); err != nil {
			return err
		}
	}
	if err := a.print(a.result(t, plan, time.Now())); err != nil {
		return &cli.Error{Message: "write traffic action result failed; check traffic status", Cause: err.Error()}
	}
	return nil
}

// complete checks the arguments in OME's order, which ends before any request.
func (a *action) complete(args []string) (target, error) {
	refuse := func(message string) (target, error) { return target{}, &cli.Error{Message: message} }
	if len(args) != 1 {
		return refuse("exactly one inference service is required")
	}
	if err := a.completeModes(); err != nil {
		return target{}, err
	}
	name := args[0]
	if len(validation.IsDNS1123Subdomain(name)) > 0 || !trafficdrain.SafeScalar(name) {
		return refuse("invalid inference service name")
	}
	if err := a.validate(); err != nil {
		return target{}, err
	}
	t, err := a.completePlace()
	t.name = name
	return t, err
}

// completeModes checks how the command is to work.
func (a *action) completeModes() error {
	if !cli.KnownFormat(a.output) {
		return &cli.Error{Message: "output must be table, wide, json or yaml"}
	}
	if a.dryRun != dryRunNone && a.dryRun != dryRunClient && a.dryRun != dryRunServer {
		return &cli.Error{Message: "dry-run must be none, client or server"}
	}
	return nil
}

// completePlace finds out where the command is to work.
func (a *action) completePlace() (target, error) {
	refuse := func(message string) (target, error) { return target{}, &cli.Error{Message: message} }
	namespace, err := a.Namespace()
	if err != nil {
		return target{}, &cli.Error{Message: "resolve workload namespace failed", Cause: guarded.OneLine(err.Error())}
	}
	if len(validation.IsDNS1123Label(namespace)) > 0 || !trafficdrain.SafeScalar(namespace) {
		return refuse("resolved workload namespace is invalid")
	}
	contextName := a.contextName()
	if contextName == "" || !trafficdrain.SafeScalar(contextName) {
		return target{}, &cli.Error{
			Message: "selected kubeconfig context is unavailable or unsafe",
			Cause:   "the kubeconfig has no context of that name, or there is no kubeconfig; `kubectl config get-contexts` lists them, and KUBECONFIG, --kubeconfig and --context choose",
		}
	}
	return target{context: contextName, namespace: namespace}, nil
}

// contextName is the context in use, or empty if there is none of that name.
func (a *action) contextName() string {
	raw, err := a.Flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	name := raw.CurrentContext
	if a.Flags.Context != nil && *a.Flags.Context != "" {
		name = *a.Flags.Context
	}
	if _, exists := raw.Contexts[name]; !exists {
		return ""
	}
	return name
}

func (a *action) client() (*guarded.Client, error) {
	config, err := a.RESTConfig()
	if err != nil {
		return nil, &cli.Error{Message: "traffic action REST configuration is unavailable", Cause: guarded.OneLine(err.Error())}
	}
	client, err := guarded.NewClient(config, a.ErrOut)
	if err != nil {
		return nil, &cli.Error{Message: "construct guarded traffic action transport failed", Cause: guarded.OneLine(err.Error())}
	}
	return client, nil
}

func (a *action) followUp(t target) string {
	return fmt.Sprintf("%s traffic status %s -n %s --context=%s", a.Program, t.name, t.namespace, t.context)
}

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

package app

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	apiversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version"
	"k8s.io/component-base/version/verflag"
	upstream "k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"

	"github.com/evenkeel-io/evenkeel/plugins/profile"
)

const commandName = "hub-scheduler"

func init() {
	profile.RegisterDefaults(scheme.Scheme)
}

// NewCommand makes the command hub-scheduler. Its flags are those of upstream's NewSchedulerCommand.
func NewCommand() *cobra.Command {
	opts := newOptions()
	cmd := &cobra.Command{
		Use: commandName,
		Long: `The hub scheduler gives each ReplicaPlacement an InferenceCluster, and each of its
engines a node pool there, the way kube-scheduler gives each Pod a Node: filtering
by taints, labels, readiness, devices and free nodes, then ranking what is left.
It is configured like kube-scheduler, by flags and a KubeSchedulerConfiguration.`,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return opts.ComponentGlobalsRegistry.Set()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(cmd, opts)
		},
		Args: cobra.NoArgs,
	}
	flags := opts.Flags
	verflag.AddFlags(flags.FlagSet("global"))
	globalflag.AddGlobalFlags(flags.FlagSet("global"), cmd.Name(), logs.SkipLoggingConfigurationFlags())
	for _, set := range flags.FlagSets {
		cmd.Flags().AddFlagSet(set)
	}
	columns, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(cmd, *flags, columns)
	if err := cmd.MarkFlagFilename("config", "yaml", "yml", "json"); err != nil {
		panic(err) // The flag is always there: upstream defines it.
	}
	return cmd
}

// newOptions makes upstream's options, with our lease's name as the flag's default.
func newOptions() *options.Options {
	opts := options.NewOptionsWithComponentGlobalsRegistry(kubernetesVersion())
	opts.LeaderElection.ResourceName = profile.LeaseName
	if flag := opts.Flags.FlagSet("leader election").Lookup("leader-elect-resource-name"); flag != nil {
		flag.DefValue = profile.LeaseName
	}
	return opts
}

func run(cmd *cobra.Command, opts *options.Options) error {
	verflag.PrintAndExitIfRequested()
	gates := opts.ComponentGlobalsRegistry.FeatureGateFor(basecompatibility.DefaultKubeComponent)
	if err := logsapi.ValidateAndApply(opts.Logs, gates); err != nil {
		return fmt.Errorf("logging flags: %w", err)
	}
	cliflag.PrintFlags(cmd.Flags())

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := server.SetupSignalHandler()
	go func() {
		<-stop
		cancel()
	}()

	completed, sched, err := setup(ctx, opts)
	if err != nil {
		return err
	}
	gates.(featuregate.MutableFeatureGate).AddMetrics()
	opts.ComponentGlobalsRegistry.AddMetrics()
	return upstream.Run(ctx, completed, sched)
}

// emulatedMinors is how many minor versions of Kubernetes back a scheduler can be told to behave like, as upstream.
const emulatedMinors = 3

// kubernetesVersion says which Kubernetes the scheduler's feature gates are of: the one that it is built from. Upstream's
// own registry takes the binary's version for that, which is Evenkeel's here, and a release would refuse to start.
func kubernetesVersion() basecompatibility.ComponentGlobalsRegistry {
	kubernetes := apiversion.MustParse(version.DefaultKubeBinaryVersion)
	oldest := kubernetes.SubtractMinor(emulatedMinors)
	registry := basecompatibility.NewComponentGlobalsRegistry()
	utilruntime.Must(registry.Register(basecompatibility.DefaultKubeComponent,
		basecompatibility.NewEffectiveVersion(kubernetes, false, oldest, oldest), utilfeature.DefaultMutableFeatureGate))
	return registry
}

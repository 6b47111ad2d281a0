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
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/term"
	"k8s.io/component-base/version"
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
)

// options are the flags.
type options struct {
	config     string
	kubeconfig string
	logs       *logsapi.LoggingConfiguration
}

// NewCommand makes the command.
func NewCommand() *cobra.Command {
	o := &options{logs: logsapi.NewLoggingConfiguration()}
	cmd := &cobra.Command{
		Use:   "workload-manager",
		Short: "Keep the serving path of a cluster up through the maintenance of its nodes",
		Long: `workload-manager runs on each cluster that serves models: a webhook gives endpoint pickers, gateway proxies and
the controllers that they need a second replica, a spread over nodes and probes where they have none; controllers keep
a budget for each and move replicas apart that share a node.`,
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			verflag.PrintAndExitIfRequested()
			return o.run(ctrl.SetupSignalHandler())
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *options) addFlags(cmd *cobra.Command) {
	sets := cliflag.NamedFlagSets{}
	general := sets.FlagSet("general")
	general.StringVar(&o.config, "config", "", "File with a ServingPathConfiguration of "+configapi.GroupVersion.String()+". Without one the defaults hold.")
	general.StringVar(&o.kubeconfig, "kubeconfig", "", "File that says how to reach the cluster. Without one the pod's service account is used, or the file that KUBECONFIG names.")
	logsapi.AddFlags(o.logs, sets.FlagSet("logs"))
	verflag.AddFlags(sets.FlagSet("global"))
	for _, set := range sets.FlagSets {
		cmd.Flags().AddFlagSet(set)
	}
	columns, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(cmd, sets, columns)
}

func (o *options) run(ctx context.Context) error {
	if err := logsapi.ValidateAndApply(o.logs, nil); err != nil {
		return err
	}
	ctrl.SetLogger(klog.NewKlogr())
	config, err := o.load()
	if err != nil {
		return err
	}
	connection, err := o.connect(config)
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Starting workload-manager", "version", version.Get().String())
	return run(ctx, connection, config)
}

func (o *options) load() (*configapi.ServingPathConfiguration, error) {
	if o.config == "" {
		return configapi.DecodeServingPathConfiguration(nil)
	}
	data, err := os.ReadFile(o.config)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	config, err := configapi.DecodeServingPathConfiguration(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.config, err)
	}
	return config, nil
}

func (o *options) connect(config *configapi.ServingPathConfiguration) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	connection, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	connection.UserAgent = rest.DefaultKubernetesUserAgent()
	connection.QPS = *config.ClientConnection.QPS
	connection.Burst = int(*config.ClientConnection.Burst)
	return connection, nil
}

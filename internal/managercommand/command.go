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

package managercommand

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

// Program is a manager with a configuration of type C.
type Program[C any] struct {
	// Name, Short and Long describe the command.
	Name, Short, Long string
	// Reaches is what the manager connects to, for people: "hub".
	Reaches string
	// ConfigKind is the kind of its file.
	ConfigKind string
	// Decode reads the file; no bytes give the defaults.
	Decode func(data []byte) (*C, error)
	// Connection gives the part of a configuration that bounds what is asked of the API server.
	Connection func(*C) *configapi.ClientConnection
	// Run runs the manager until the context ends.
	Run func(context.Context, *rest.Config, *C) error
}

// options are the flags.
type options[C any] struct {
	program    Program[C]
	config     string
	kubeconfig string
	logs       *logsapi.LoggingConfiguration
}

// New makes the command of a program.
func New[C any](program Program[C]) *cobra.Command {
	o := &options[C]{program: program, logs: logsapi.NewLoggingConfiguration()}
	cmd := &cobra.Command{
		Use:          program.Name,
		Short:        program.Short,
		Long:         program.Long,
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

func (o *options[C]) addFlags(cmd *cobra.Command) {
	sets := cliflag.NamedFlagSets{}
	general := sets.FlagSet("general")
	general.StringVar(&o.config, "config", "", "File with a "+o.program.ConfigKind+" of "+configapi.GroupVersion.String()+". Without one the defaults hold.")
	general.StringVar(&o.kubeconfig, "kubeconfig", "", "File that says how to reach the "+o.program.Reaches+". Without one the pod's service account is used, or the file that KUBECONFIG names.")
	logsapi.AddFlags(o.logs, sets.FlagSet("logs"))
	verflag.AddFlags(sets.FlagSet("global"))
	for _, set := range sets.FlagSets {
		cmd.Flags().AddFlagSet(set)
	}
	columns, _, _ := term.TerminalSize(cmd.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(cmd, sets, columns)
}

func (o *options[C]) run(ctx context.Context) error {
	if err := logsapi.ValidateAndApply(o.logs, nil); err != nil {
		return err
	}
	ctrl.SetLogger(klog.NewKlogr())
	config, err := o.load()
	if err != nil {
		return err
	}
	connection, err := o.connect(o.program.Connection(config))
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Starting "+o.program.Name, "version", version.Get().String())
	return o.program.Run(ctx, connection, config)
}

func (o *options[C]) load() (*C, error) {
	if o.config == "" {
		return o.program.Decode(nil)
	}
	data, err := os.ReadFile(o.config)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	config, err := o.program.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.config, err)
	}
	return config, nil
}

func (o *options[C]) connect(limits *configapi.ClientConnection) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	connection, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the %s: %w", o.program.Reaches, err)
	}
	connection.UserAgent = rest.DefaultKubernetesUserAgent()
	connection.QPS = *limits.QPS
	connection.Burst = int(*limits.Burst)
	return connection, nil
}

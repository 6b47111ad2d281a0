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

package cli

import (
	"fmt"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
)

// Program is the name that a user types before the command's own words.
type Program string

const (
	// Evenkeel is Evenkeel's own plugin.
	Evenkeel Program = "kubectl evenkeel"
	// OME is the name under which the same program stands in for OME's plugin on hubs that
	// do not have it. It then has OME's commands only, with OME's flags only.
	OME Program = "kubectl ome"
)

// Factory is what every command is made from.
type Factory struct {
	genericiooptions.IOStreams
	// Program is how the user called it; it is repeated in texts that tell what to run next.
	Program Program
	// Flags are kubectl's connection flags, which the root command has for all others.
	Flags *genericclioptions.ConfigFlags
}

// NewFactory makes a factory whose connection flags have kubectl's defaults.
func NewFactory(program Program, streams genericiooptions.IOStreams) *Factory {
	return &Factory{IOStreams: streams, Program: program, Flags: genericclioptions.NewConfigFlags(true)}
}

// Namespace is that of the flag, else that of the kubeconfig's context, else "default".
func (f *Factory) Namespace() (string, error) {
	namespace, _, err := f.Flags.ToRawKubeConfigLoader().Namespace()
	return namespace, configError(err)
}

// RESTConfig is how to reach the API server that flags and kubeconfig name.
func (f *Factory) RESTConfig() (*rest.Config, error) {
	config, err := f.Flags.ToRESTConfig()
	return config, configError(err)
}

// configError says what to do about flags and kubeconfig that do not tell which API server is meant.
func configError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; see KUBECONFIG, --kubeconfig, --context, --cluster and --user, and what `kubectl config view` says", err)
}

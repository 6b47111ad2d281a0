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
	"github.com/spf13/cobra"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/managercommand"
)

// NewCommand makes the command.
func NewCommand() *cobra.Command {
	return managercommand.New(managercommand.Program[configapi.ServingPathConfiguration]{
		Name:  "workload-manager",
		Short: "Keep the serving path of a cluster up through the maintenance of its nodes",
		Long: `workload-manager runs on each cluster that serves models: a webhook gives endpoint pickers, gateway proxies and
the controllers that they need a second replica, a spread over nodes and probes where they have none; controllers keep
a budget for each and move replicas apart that share a node.`,
		Reaches:    "cluster",
		ConfigKind: "ServingPathConfiguration",
		Decode:     configapi.DecodeServingPathConfiguration,
		Connection: func(config *configapi.ServingPathConfiguration) *configapi.ClientConnection {
			return &config.ClientConnection
		},
		Run: run,
	})
}

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
	return managercommand.New(managercommand.Program[configapi.HubManagerConfiguration]{
		Name:  "hub-manager",
		Short: "Keep the replicas of ModelDeployments on a fleet of InferenceClusters",
		Long: `hub-manager runs Evenkeel's controllers on a hub: it asks for a place for each wanted replica, makes
the replica once the hub scheduler has found one, and moves replicas away from clusters that are drained.`,
		Reaches:    "hub",
		ConfigKind: "HubManagerConfiguration",
		Decode:     configapi.DecodeHubManagerConfiguration,
		Connection: func(config *configapi.HubManagerConfiguration) *configapi.ClientConnection {
			return &config.ClientConnection
		},
		Run: run,
	})
}

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

package modeldeployment

import (
	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/replicas"
)

// OptionsFrom gives the options that a defaulted configuration says. What the hub serves is not among them.
func OptionsFrom(config *configapi.ModelDeploymentController) Options {
	settings := replicas.DefaultSettings()
	settings.SettleTime = config.SettleTime.Duration
	settings.HistoryTTL = config.TTLAfterFinished.Duration
	settings.HistoryLimit = int(*config.HistoryLimit)
	settings.VerdictTimeout = config.VerdictTimeout.Duration
	settings.DegradedAfter = config.DegradedAfter.Duration
	return Options{
		SchedulerNames:          config.SchedulerNames,
		OwnCompositions:         config.OwnCompositions,
		MaxConcurrentReconciles: int(*config.MaxConcurrentReconciles),
		Disruption:              config.Disruption,
		MaxParallelMoves:        int(*config.MaxParallelMoves),
		MaxLoadingPerCluster:    int(*config.MaxLoadingPerCluster),
		StepEvents:              config.StepEvents,
		Settings:                settings,
	}
}

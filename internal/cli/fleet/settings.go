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

package fleet

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/controllers/modeldeployment"
	"github.com/evenkeel-io/evenkeel/internal/simulation"
)

// Settings are the configuration files of the programs whose decisions are foreseen.
type Settings struct {
	manager, scheduler string
}

// AddFlags adds the flags that name the files.
func (s *Settings) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.manager, "manager-config", "", "configuration file that hub-manager runs with; its defaults without one")
	flags.StringVar(&s.scheduler, "scheduler-config", "", "configuration file that hub-scheduler runs with; its defaults without one")
}

// Load gives the settings that the programs have. An error says which file is wrong, and what in it.
func (s *Settings) Load() (simulation.Options, error) {
	options, err := simulation.DefaultOptions()
	if err != nil {
		return options, err
	}
	if s.manager != "" {
		content, err := os.ReadFile(s.manager)
		if err != nil {
			return options, err
		}
		config, err := configapi.DecodeHubManagerConfiguration(content)
		if err != nil {
			return options, fmt.Errorf("%s: %w", s.manager, err)
		}
		options.Controller = modeldeployment.OptionsFrom(&config.ModelDeployments)
	}
	if s.scheduler != "" {
		content, err := os.ReadFile(s.scheduler)
		if err != nil {
			return options, err
		}
		if options.Scheduler, err = simulation.SchedulerConfiguration(content); err != nil {
			return options, fmt.Errorf("%s: %w", s.scheduler, err)
		}
	}
	return options, nil
}

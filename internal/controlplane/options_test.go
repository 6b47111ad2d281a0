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

package controlplane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSwitchesFlag(t *testing.T) {
	tests := map[string]struct {
		switches map[string]bool
		want     []string
	}{
		"none":   {nil, nil},
		"empty":  {map[string]bool{}, nil},
		"one":    {map[string]bool{"resource.k8s.io/v1": false}, []string{"--f=resource.k8s.io/v1=false"}},
		"sorted": {map[string]bool{"c": true, "a": false, "b": true}, []string{"--f=a=false,b=true,c=true"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, switchesFlag("f", test.switches))
		})
	}
}

func TestComponentsAndStages(t *testing.T) {
	tests := map[string]struct {
		options Options
		want    [][]Component
	}{
		"default":   {Options{}, [][]Component{{Etcd}, {APIServer}, {ControllerManager}}},
		"all":       {Options{Scheduler: true}, [][]Component{{Etcd}, {APIServer}, {ControllerManager, Scheduler}}},
		"smallest":  {Options{DisableControllerManager: true}, [][]Component{{Etcd}, {APIServer}, {}}},
		"scheduler": {Options{DisableControllerManager: true, Scheduler: true}, [][]Component{{Etcd}, {APIServer}, {Scheduler}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, startStages(test.options.components()))
		})
	}
}

func TestStartTimeout(t *testing.T) {
	assert.Equal(t, defaultStartTimeout, (&Options{}).startTimeout())
	assert.Equal(t, time.Second, (&Options{StartTimeout: time.Second}).startTimeout())
}

// User arguments come last, where pflag lets them win.
func TestUserArgumentsComeLast(t *testing.T) {
	options := &Options{
		APIServerArgs:         []string{"--mine=api"},
		ControllerManagerArgs: []string{"--mine=kcm"},
		SchedulerArgs:         []string{"--mine=sched"},
		FeatureGates:          map[string]bool{"A": true},
		RuntimeConfig:         map[string]bool{"b": false},
		AuditPolicy:           WritesAuditPolicy(),
	}
	f := files{dir: "/d"}
	for last, args := range map[string][]string{
		"--mine=api":   apiServerArgs(f, 1, options),
		"--mine=kcm":   controllerManagerArgs(f, 1, options),
		"--mine=sched": schedulerArgs(f, 1, options),
	} {
		assert.Equal(t, last, args[len(args)-1])
		assert.Contains(t, args, "--feature-gates=A=true")
		assert.Contains(t, args, "--secure-port=1")
	}
	assert.Contains(t, apiServerArgs(f, 1, options), "--runtime-config=b=false")
	assert.Contains(t, apiServerArgs(f, 1, options), "--audit-log-path=/d/logs/audit.log")
}

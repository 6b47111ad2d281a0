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

package simulation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"

	"github.com/evenkeel-io/evenkeel/plugins/profile"
)

// DefaultScheduler is the configuration that a hub scheduler has without a file.
func DefaultScheduler() (*config.KubeSchedulerConfiguration, error) {
	profile.RegisterDefaults(scheme.Scheme)
	versioned := &configv1.KubeSchedulerConfiguration{}
	scheme.Scheme.Default(versioned)
	internal := &config.KubeSchedulerConfiguration{}
	if err := scheme.Scheme.Convert(versioned, internal, nil); err != nil {
		return nil, fmt.Errorf("default scheduler configuration: %w", err)
	}
	return internal, nil
}

// SchedulerConfiguration reads a configuration file of the hub scheduler. An error says what in it is wrong.
func SchedulerConfiguration(content []byte) (*config.KubeSchedulerConfiguration, error) {
	profile.RegisterDefaults(scheme.Scheme)
	decoded, err := runtime.Decode(scheme.Codecs.UniversalDecoder(), content)
	if err != nil {
		return nil, err
	}
	internal, ok := decoded.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("it has a %T, not a KubeSchedulerConfiguration", decoded)
	}
	return internal, validation.ValidateKubeSchedulerConfiguration(internal)
}

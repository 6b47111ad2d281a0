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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// DefaultMaxNamedClusters is how many clusters an explanation names when nothing else is configured.
	DefaultMaxNamedClusters int32 = 3
	// MaxMaxNamedClusters is the most clusters that an explanation can be made to name.
	MaxMaxNamedClusters int32 = 10
)

// PreemptionMode is what the plugin Preemption does for a placement that fits nowhere.
type PreemptionMode string

const (
	// PreemptionModeExplain says what the clusters lack, and preempts nothing.
	PreemptionModeExplain PreemptionMode = "Explain"
	// PreemptionModePreempt says it too, and makes room where replicas of lower priority can leave for it.
	PreemptionModePreempt PreemptionMode = "Preempt"
)

// PreemptionArgs are the arguments of the plugin Preemption.
// +kubebuilder:object:root=true
type PreemptionArgs struct {
	metav1.TypeMeta `json:",inline"`
	// MaxNamedClusters is how many clusters the explanation of a failed placement names with their numbers, from 0 to
	// 10. The others are counted. 3 when absent.
	// +optional
	MaxNamedClusters *int32 `json:"maxNamedClusters,omitempty"`
	// Mode is Explain or Preempt. Explain when absent.
	// +optional
	Mode PreemptionMode `json:"mode,omitempty"`
}

func init() {
	SchemeBuilder.Register(addPluginArgs)
}

func addPluginArgs(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &PreemptionArgs{})
	scheme.AddTypeDefaultingFunc(&PreemptionArgs{}, func(obj any) {
		SetDefaultsPreemptionArgs(obj.(*PreemptionArgs))
	})
	return nil
}

// SetDefaultsPreemptionArgs fills in what is absent.
func SetDefaultsPreemptionArgs(args *PreemptionArgs) {
	if args.MaxNamedClusters == nil {
		n := DefaultMaxNamedClusters
		args.MaxNamedClusters = &n
	}
	if args.Mode == "" {
		args.Mode = PreemptionModeExplain
	}
}

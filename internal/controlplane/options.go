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
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Component names one process of a control plane; it is also the name of the
// binary that is run.
type Component string

// The components of a control plane, in the order in which they start.
const (
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Scheduler         Component = "kube-scheduler"
)

var allComponents = []Component{Etcd, APIServer, ControllerManager, Scheduler}

// defaultStartTimeout is generous because several test binaries may start control
// planes at the same time on two cores; an idle machine needs a few seconds.
const defaultStartTimeout = 2 * time.Minute

// Options configures a control plane. The zero value is a good start: API server
// and controller manager, found in bin/k8s, with upstream's defaults.
type Options struct {
	// BinDir holds the components' binaries. Empty means: environment variable
	// KUBEBUILDER_ASSETS, else bin/k8s next to the nearest go.mod, upwards from
	// the working directory.
	BinDir string

	// DisableControllerManager leaves the controller manager out. Nothing then
	// collects garbage, empties deleted namespaces or creates service accounts,
	// so the API server runs without the ServiceAccount admission plugin, which
	// would refuse every pod.
	DisableControllerManager bool

	// Scheduler starts the default scheduler too.
	Scheduler bool

	// APIServerArgs, ControllerManagerArgs and SchedulerArgs are appended to the
	// arguments of the component, "--flag=value" each; the last one of a repeated
	// flag wins. SchedulerArgs with --config must name a kubeconfig in that file.
	APIServerArgs         []string
	ControllerManagerArgs []string
	SchedulerArgs         []string

	// FeatureGates is given to every Kubernetes component.
	FeatureGates map[string]bool

	// RuntimeConfig switches API groups and versions of the API server on or off:
	// {"resource.k8s.io/v1": false} makes a cluster without device claims.
	RuntimeConfig map[string]bool

	// AuditPolicy switches on an audit log, which AuditEvents reads. See
	// WritesAuditPolicy for one that serves to count writes.
	AuditPolicy *auditv1.Policy

	// StartTimeout bounds Start as a whole and each Restart; zero means two
	// minutes.
	StartTimeout time.Duration
}

func (o *Options) startTimeout() time.Duration {
	if o.StartTimeout > 0 {
		return o.StartTimeout
	}
	return defaultStartTimeout
}

// components lists what Start brings up, in order.
func (o *Options) components() []Component {
	selected := []Component{Etcd, APIServer}
	if !o.DisableControllerManager {
		selected = append(selected, ControllerManager)
	}
	if o.Scheduler {
		selected = append(selected, Scheduler)
	}
	return selected
}

// switchesFlag renders a map of switches as one flag, sorted so that two equal
// options make equal command lines. It returns nothing for an empty map.
func switchesFlag(flag string, switches map[string]bool) []string {
	if len(switches) == 0 {
		return nil
	}
	pairs := make([]string, 0, len(switches))
	for _, name := range slices.Sorted(maps.Keys(switches)) {
		pairs = append(pairs, fmt.Sprintf("%s=%t", name, switches[name]))
	}
	return []string{"--" + flag + "=" + strings.Join(pairs, ",")}
}

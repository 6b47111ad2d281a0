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

// Command hub-scheduler gives ReplicaPlacements a cluster. It is kube-scheduler, with its flags, its configuration
// file, its leader election and its endpoints, over InferenceClusters in place of Nodes and ReplicaPlacements in place
// of Pods.
package main

import (
	"os"
	"runtime/debug"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // for JSON log format registration
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // for REST client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // for version metrics

	"github.com/evenkeel-io/evenkeel/cmd/hub-scheduler/app"
)

// gcPercent spends memory, of which a scheduler of a large fleet needs little, to save time: the framework allocates for
// each cluster that it looks at, and cleaning up after it every time the heap has doubled took a seventh of the
// processor time. GOMEMLIMIT bounds it as usual.
const gcPercent = 200

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(cli.Run(app.NewCommand()))
}

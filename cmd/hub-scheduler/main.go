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

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // for JSON log format registration
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // for REST client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // for version metrics

	"github.com/evenkeel-io/evenkeel/cmd/hub-scheduler/app"
)

func main() {
	os.Exit(cli.Run(app.NewCommand()))
}

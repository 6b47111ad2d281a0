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

// Command hub-manager runs Evenkeel's controllers on a hub.
package main

import (
	"os"
	"runtime/debug"

	"k8s.io/component-base/cli"

	"github.com/evenkeel-io/evenkeel/cmd/hub-manager/app"
)

// gcPercent spends memory, of which a manager of a thousand clusters needs little, to save time while many replicas move.
// GOMEMLIMIT bounds it as usual.
const gcPercent = 200

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(cli.Run(app.NewCommand()))
}

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

// Command kubectl-evenkeel is the kubectl plugin of Evenkeel: `kubectl evenkeel`. Under the
// name kubectl-ome the same file answers to OME's traffic commands, `kubectl ome`.
package main

import (
	"os"
	"runtime/debug"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/evenkeel-io/evenkeel/cmd/kubectl-evenkeel/app"
)

// garbage is how much of it, in percent of what is in use, may gather until it is collected: the program lives for seconds, and
// mostly reads lists. Whoever sets GOGC has it otherwise.
const garbage = 200

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	os.Exit(app.Run(os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}

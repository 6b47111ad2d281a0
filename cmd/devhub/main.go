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

// Command devhub is etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler and kubectl in one binary, built from the Go modules this
// project already depends on. It gives development and tests a real Kubernetes
// control plane without a container engine or a download.
//
// It adds nothing to the upstream commands and must not: what runs against it
// has to behave as it does against any other cluster. The one exception is that
// a component started with lifeline.EnvFD set dies together with its parent.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // time zones of CronJobs, as in the upstream commands

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // credential plugins of kubectl
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the build_info metric
	"k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/evenkeel-io/evenkeel/internal/controlplane/lifeline"
)

// exitUsage is the exit code of a call that names no component.
const exitUsage = 2

// component is one of the commands in this binary. run reads os.Args, whose
// first element is the component's own name.
type component struct {
	name, summary string
	run           func()
}

// components lists the commands. Each of the Kubernetes commands claims the
// process's signal handler, so only one of them can run in a process.
var components = []component{
	{"etcd", "the key-value store behind an API server", func() { etcdmain.Main(os.Args) }},
	{"kube-apiserver", "the Kubernetes API", func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) }},
	{"kube-controller-manager", "garbage collection, namespaces, workloads, ...", func() { os.Exit(cli.Run(controllermanager.NewControllerManagerCommand())) }},
	{"kube-scheduler", "the default scheduler, without any plugin of this project", func() { os.Exit(cli.Run(scheduler.NewSchedulerCommand())) }},
	{"kubectl", "the command-line client", kubectl},
}

func main() {
	selected, args := selectComponent(os.Args)
	if selected == nil {
		usage(os.Stderr, os.Args)
		os.Exit(exitUsage)
	}
	if err := lifeline.Attach(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", selected.name, err)
		os.Exit(1)
	}
	os.Args = args
	selected.run()
}

// selectComponent finds the component that argv asks for, by the name of the
// binary or else by the first argument, and the argv that component must see.
// It returns nil when argv asks for none.
func selectComponent(argv []string) (*component, []string) {
	for skip := range min(len(argv), 2) {
		name := filepath.Base(argv[skip])
		i := slices.IndexFunc(components, func(c component) bool { return c.name == name })
		if i >= 0 {
			return &components[i], argv[skip:]
		}
	}
	return nil, nil
}

func usage(w io.Writer, argv []string) {
	if len(argv) > 1 && !strings.HasPrefix(argv[1], "-") {
		fmt.Fprintf(w, "devhub: no component is called %q\n\n", argv[1])
	}
	fmt.Fprint(w, "devhub is a Kubernetes control plane in one binary, for development and tests.\n\n"+
		"Usage:\n"+
		"  devhub COMPONENT [flags]\n"+
		"  COMPONENT [flags]          where COMPONENT is a link to devhub\n\n"+
		"Components:\n")
	for _, c := range components {
		fmt.Fprintf(w, "  %-25s  %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\nRun \"devhub COMPONENT --help\" for the flags of a component.\n")
}

// kubectl does what the upstream main function does: the verbosity is needed
// while the command tree is built, which is before its flags are parsed.
func kubectl() {
	if _, err := logs.GlogSetter(cmd.GetLogVerbosity(os.Args)); err != nil {
		fmt.Fprintf(os.Stderr, "kubectl: set the log verbosity: %v\n", err)
	}
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		cmdutil.CheckErr(err)
	}
}

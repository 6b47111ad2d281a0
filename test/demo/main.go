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

// demo runs Evenkeel's main job on a control plane of its own and checks what
// happens: the real hub-scheduler and hub-manager against a real etcd, API server and
// controller manager, with a stand-in for Modelplane's composer. It prints each
// command and its real output, and ends with "demo: PASS (N checks)" and exit code 0
// or with "demo: FAIL ..." and exit code 1.
//
// "make demo" builds what it needs and runs it. It must leave nothing behind, also
// when it fails or is interrupted, except the logs of a failed run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	if isSet(envGuard) {
		os.Exit(guard(os.Args[1:]))
	}
	settings := parseFlags()
	// The logs that matter are those of the hub's processes.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	os.Exit(newDemo(settings, os.Stdout).run(ctx))
}

// settings is what a user can choose.
type settings struct {
	// scenario is the only one to run; empty means all.
	scenario string
	// keep leaves everything running until the user interrupts.
	keep bool
	// root is the repository, with bin/ and manifests/.
	root string
}

func parseFlags() settings {
	var s settings
	flag.StringVar(&s.scenario, "scenario", os.Getenv("SCENARIO"), "run only this one of: "+scenarioNames()+" (default: all, or what SCENARIO says)")
	flag.BoolVar(&s.keep, "keep", isSet("KEEP"), "leave everything running until Ctrl-C (default: what KEEP says)")
	flag.StringVar(&s.root, "root", "", "the repository, with bin/ and manifests/ (default: upwards from the working directory)")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: unexpected argument %q\n", flag.Arg(0))
		flag.Usage()
		os.Exit(2) // as package flag does
	}
	return s
}

// isSet tells whether an environment variable says yes.
func isSet(name string) bool {
	switch os.Getenv(name) {
	case "", "0", "false", "no":
		return false
	}
	return true
}

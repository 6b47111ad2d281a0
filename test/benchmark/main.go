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

// Command benchmark measures Evenkeel on a control plane of its own and writes what
// it found to bench/results.json and as tables to standard output.
//
// It never judges a number: it fails only when a run does not finish or its outcome
// is wrong. What is measured and how is in docs/benchmarks.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

// envBenchmark selects one benchmark: make passes the environment on.
const envBenchmark = "BENCH"

func main() {
	// What libraries log would come between the lines of progress.
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

type options struct {
	benchmark, root, results string
}

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	all := benchmarks()
	var opts options
	flags := flag.NewFlagSet("benchmark", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&opts.benchmark, "bench", os.Getenv(envBenchmark), "the only benchmark to run; all if empty; the default is $"+envBenchmark)
	flags.StringVar(&opts.root, "root", ".", "the repository's root")
	flags.StringVar(&opts.results, "results", filepath.Join("bench", "results.json"), "the file to write results to")
	for _, b := range all {
		if b.AddFlags != nil {
			b.AddFlags(flags)
		}
	}
	flags.Usage = func() { usage(flags, all) }
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return exitUsage
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(errOut, "benchmark: unexpected argument %q: see --help\n", flags.Arg(0))
		return exitUsage
	}
	selected, err := harness.Select(all, opts.benchmark)
	if err != nil {
		_, _ = fmt.Fprintln(errOut, "benchmark:", err)
		return exitUsage
	}
	if err := measure(ctx, selected, opts, out); err != nil {
		_, _ = fmt.Fprintln(errOut, "benchmark: FAIL:", err)
		return exitFailed
	}
	return 0
}

func usage(flags *flag.FlagSet, all []harness.Benchmark) {
	w := flags.Output()
	_, _ = fmt.Fprint(w, "benchmark measures Evenkeel on a control plane of its own.\n\nBenchmarks:\n")
	for _, b := range all {
		_, _ = fmt.Fprintf(w, "  %-12s  %s\n", b.Name, b.Summary)
	}
	_, _ = fmt.Fprint(w, "\nFlags:\n")
	flags.PrintDefaults()
}

func measure(ctx context.Context, selected []harness.Benchmark, opts options, out io.Writer) error {
	componentDir, err := controlplane.FindBinDir("")
	if err != nil {
		return err
	}
	environment := &harness.Environment{
		BinDir:  filepath.Dir(componentDir),
		Root:    opts.root,
		Machine: harness.ThisMachine(),
		Out:     out,
		Results: harness.NewResults(opts.results),
	}
	machine := environment.Machine
	environment.Progressf("%d cores, %s, %s", machine.Cores, machine.CPUModel, machine.GoVersion)
	if machine.Busy() {
		environment.Progressf("note: the machine is busy (load average %.1f): the rates will mean little", machine.LoadAverage)
	}
	for _, b := range selected {
		environment.Progressf("== %s: %s", b.Name, b.Summary)
		if err := b.Run(ctx, environment); err != nil {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
	}
	environment.Progressf("\nresults in %s", environment.Results.Path())
	return nil
}

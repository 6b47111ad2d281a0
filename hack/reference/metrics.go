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

package main

import (
	"go/ast"
	"strings"
)

// metricPrefix is how the names of Evenkeel's own metrics begin.
const metricPrefix = "evenkeel_"

// metrics writes the metrics that the programs serve beside those of their libraries.
func metrics(p *page, source []sourceFile) {
	found := map[string][]string{}
	for _, file := range source {
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if name, help, labels := metricOf(call); strings.HasPrefix(name, metricPrefix) {
				found[name] = []string{code(name), code(strings.Join(labels, ", ")), prose(help)}
			}
			return true
		})
	}
	p.WriteString("## Metrics\n\nBeside those of kube-scheduler (hub-scheduler) and of controller-runtime (hub-manager, workload-manager).\n\n")
	var rows [][]string
	for _, name := range sorted(found) {
		rows = append(rows, found[name])
	}
	p.table([]string{"Name", "Labels", meaningColumn}, rows)
}

// metricOf reads a call that makes a metric: prometheus' NewDesc, or one with options of name and help.
func metricOf(call *ast.CallExpr) (name, help string, labels []string) {
	if len(call.Args) < 1 {
		return "", "", nil
	}
	if options, ok := call.Args[0].(*ast.CompositeLit); ok {
		name, help = optionsOf(options)
		if len(call.Args) > 1 {
			labels = stringsOf(call.Args[1])
		}
		return name, help, labels
	}
	if len(call.Args) < 3 {
		return "", "", nil
	}
	name, _ = literal(call.Args[0])
	help, _ = literal(call.Args[1])
	return name, help, stringsOf(call.Args[2])
}

func optionsOf(options *ast.CompositeLit) (name, help string) {
	for _, e := range options.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, _ := pair.Key.(*ast.Ident)
		value, _ := literal(pair.Value)
		switch {
		case key == nil:
		case key.Name == "Name":
			name = value
		case key.Name == "Help":
			help = value
		}
	}
	return name, help
}

func stringsOf(e ast.Expr) []string {
	list, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	var values []string
	for _, element := range list.Elts {
		if value, is := literal(element); is {
			values = append(values, value)
		}
	}
	return values
}

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
	"fmt"
	"go/ast"
	"reflect"
	"strings"
)

// Types of configuration files, with the program that reads them.
var configurationFiles = []struct{ kind, program string }{
	{"HubManagerConfiguration", "hub-manager"},
	{"ServingPathConfiguration", "workload-manager"},
}

// configurations writes the fields of configuration files, and of the plugins' arguments in hub-scheduler's.
func configurations(p *page) error {
	source, err := parse("apis/config", "apis/evenkeel")
	if err != nil {
		return err
	}
	structs := map[string]*ast.StructType{}
	args := map[string]bool{}
	for _, file := range source {
		for _, spec := range typesOf(file.syntax) {
			if s, ok := spec.Type.(*ast.StructType); ok {
				structs[spec.Name.Name] = s
				if strings.HasSuffix(spec.Name.Name, "Args") {
					args[spec.Name.Name] = true
				}
			}
		}
	}
	for _, c := range configurationFiles {
		if structs[c.kind] == nil {
			return fmt.Errorf("there is no type %s", c.kind)
		}
		fmt.Fprintf(p, "## %s, the configuration of %s\n\n", c.kind, c.program)
		p.table([]string{"Field", meaningColumn}, structFields("", c.kind, structs))
	}
	p.WriteString("## Arguments of plugins, in hub-scheduler's KubeSchedulerConfiguration\n\n" +
		"Everything else in that file, and hub-scheduler's flags, are kube-scheduler's own.\n\n")
	for _, name := range sorted(args) {
		fmt.Fprintf(p, "### %s\n\n", name)
		p.table([]string{"Field", meaningColumn}, structFields("", name, structs))
	}
	return nil
}

func structFields(path, kind string, structs map[string]*ast.StructType) [][]string {
	var rows [][]string
	for _, field := range structs[kind].Fields.List {
		name, inline := jsonName(field)
		element, suffix := elementOf(field.Type)
		switch {
		case inline && structs[element] != nil:
			rows = append(rows, structFields(path, element, structs)...)
		case name != "":
			rows = append(rows, []string{code(path + name), prose(comment(field.Doc))})
			if structs[element] != nil {
				rows = append(rows, structFields(path+name+suffix+".", element, structs)...)
			}
		}
	}
	return rows
}

func jsonName(field *ast.Field) (name string, inline bool) {
	if field.Tag == nil {
		return "", false
	}
	name, options, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
	return name, options == "inline"
}

// elementOf names the type of a field, of its elements if it is a list.
func elementOf(e ast.Expr) (name, suffix string) {
	switch t := e.(type) {
	case *ast.Ident:
		return t.Name, ""
	case *ast.SelectorExpr:
		return t.Sel.Name, ""
	case *ast.StarExpr:
		return elementOf(t.X)
	case *ast.ArrayType:
		name, _ = elementOf(t.Elt)
		return name, "[]"
	}
	return "", ""
}

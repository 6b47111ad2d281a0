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
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sourceFile is one parsed file.
type sourceFile struct {
	path   string
	syntax *ast.File
}

// parse reads the Go files below some folders, without tests and generated ones, in the order of their paths.
func parse(folders ...string) ([]sourceFile, error) {
	var files []sourceFile
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			name := filepath.Base(path)
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(name, "zz_generated") {
				return err
			}
			syntax, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			files = append(files, sourceFile{path, syntax})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

func typesOf(file *ast.File) []*ast.TypeSpec {
	var specs []*ast.TypeSpec
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			for _, s := range g.Specs {
				specs = append(specs, s.(*ast.TypeSpec))
			}
		}
	}
	return specs
}

// comment is the text of a comment without the markers of code generators.
func comment(group *ast.CommentGroup) string {
	if group == nil {
		return ""
	}
	var kept []string
	for line := range strings.SplitSeq(group.Text(), "\n") {
		if !strings.HasPrefix(line, "+") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// literal is the value of a string literal.
func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

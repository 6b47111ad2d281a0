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

package hubtest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Main runs the tests of a package between setUp and what it returns, and ends the process.
func Main(m *testing.M, setUp func(context.Context) (tearDown func() error, err error)) {
	ctrl.SetLogger(logr.Discard()) // or controller-runtime complains at length
	code, err := run(m, setUp)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M, setUp func(context.Context) (func() error, error)) (code int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tearDown, err := setUp(ctx)
	if err != nil {
		return 1, err
	}
	code = m.Run()
	return code, tearDown()
}

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
	"github.com/evenkeel-io/evenkeel/test/benchmark/admission"
	"github.com/evenkeel-io/evenkeel/test/benchmark/drain"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
	"github.com/evenkeel-io/evenkeel/test/benchmark/operator"
	"github.com/evenkeel-io/evenkeel/test/benchmark/placement"
	"github.com/evenkeel-io/evenkeel/test/benchmark/servingpath"
	"github.com/evenkeel-io/evenkeel/test/benchmark/trafficmap"
)

// benchmarks lists everything that "make bench" runs, in this order.
func benchmarks() []harness.Benchmark {
	return []harness.Benchmark{
		placement.Benchmark(),
		servingpath.Benchmark(),
		drain.Benchmark(),
		admission.Benchmark(),
		trafficmap.Benchmark(),
		operator.Benchmark(),
	}
}

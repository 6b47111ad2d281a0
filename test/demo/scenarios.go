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
	"context"
	"fmt"
	"slices"
	"strings"
)

// scenario is one story that the demo tells. It starts on the example fleet, placed
// afresh, and returns an error where it cannot go on; what merely turned out wrong is
// a failed check.
type scenario struct {
	name    string
	summary string
	run     func(ctx context.Context, s *stage) error
}

// scenarios lists all, in the order in which they are run.
func scenarios() []scenario {
	return []scenario{placeScenario(), drainScenario(), gracefulScenario(), trafficScenario(), systemNodesScenario()}
}

func scenarioNames() string {
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

// selectScenarios returns the one of a name, or all if it is empty.
func selectScenarios(name string) ([]scenario, error) {
	all := scenarios()
	if name == "" {
		return all, nil
	}
	i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
	if i < 0 {
		return nil, fmt.Errorf("no scenario is called %q: SCENARIO must be one of %s, or empty for all", name, scenarioNames())
	}
	return all[i : i+1], nil
}

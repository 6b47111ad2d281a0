//go:build integration

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

package operator

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// completions gives what a shell offers after some words. The last of them is what was typed of the next, maybe nothing.
func completions(t *testing.T, person string, words ...string) (offered []string, directive string) {
	t.Helper()
	out := as(t, person, append([]string{"__complete"}, words...)...).exits(0).stdout.String()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}

// TestCompletion completes the names that each verb takes, with rights to look only.
func TestCompletion(t *testing.T) {
	newFleet(t)
	const (
		failed   = ":1"
		noFiles  = ":4"
		chatRest = "chat-0-1 chat-1-1 chat-2-1 chat-3-1 chat-4-1"
	)
	for _, tc := range []struct{ words, want string }{
		{"cordon |", "gpu-eu-north gpu-us-east gpu-us-west"},
		{"cordon gpu-us|", east + " " + west},
		{"cordon " + east + " |", ""},
		{"uncordon gpu-e|", north},
		{"drain gpu-us-w|", west},
		{"undo drain gpu-us|", east + " " + west},
		{"history gpu-us|", east + " " + west},
		{"plan drain " + east + " gpu-us|", west},
		{"get clusters " + east + " gpu-us|", west},
		{"pause --cluster gpu-us|", east + " " + west},
		{"resume --cluster gpu-e|", north},
		{"pause |", ""},
		{"plan scale -n ml-team |", "chat embed reasoner"},
		{"plan scale -n ml-team chat |", ""},
		{"plan scale |", ""}, // the namespace default has none
		{"why -n ml-team cha|", "chat " + chatRest},
		{"why -n ml-team r|", "reasoner reasoner-0-1"},
		{"why -n ml-team chat |", ""},
		{"plan drain " + east + " --fail-on |", "unplaceable"},
		{"plan drain " + east + " -o |", "table wide json yaml jsonpath="},
		{"get clusters -o |", "table wide json yaml name jsonpath="},
		{"drain " + east + " --dry-run=|", "none client server"},
	} {
		words := strings.Split(strings.TrimSuffix(tc.words, "|"), " ")
		offered, directive := completions(t, "viewer", words...)
		assert.Equal(t, tc.want, strings.Join(offered, " "), tc.words)
		assert.Equal(t, noFiles, directive, tc.words)
	}
	for _, words := range [][]string{{"why", "-n", team, ""}, {"drain", ""}, {"plan", "scale", "-n", team, ""}} {
		offered, directive := completions(t, "nobody", words...)
		assert.Empty(t, offered, words)
		assert.Equal(t, failed, directive, "what nobody may list")
	}
	offered, directive := completions(t, "viewer", "plan", "apply", "-f", "")
	assert.Equal(t, []string{"yaml", "yml", "json"}, offered)
	assert.Equal(t, ":8", directive, "files of these kinds")
}

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

package traffic

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// first is the first line of what was said.
func first(stderr string) string {
	line, _, _ := strings.Cut(stderr, "\n")
	return strings.TrimPrefix(line, "error: ")
}

// TestArguments has what is refused before any request, each together with everything that is
// checked later, so that the order shows.
func TestArguments(t *testing.T) {
	s := newServer(t, chat())
	s.get = func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s", r.URL) }
	bad := []string{"--workload-cluster=Bad_", "--id=BAD", "--reason= r"}
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"unknown flag", []string{"drain", "--nonsense"}, "invalid traffic action flags; use --help"},
		{"undrain has no cluster", []string{"undrain", "chat", "--workload-cluster=a"}, "invalid traffic action flags; use --help"},
		{"undrain has no reason", []string{"undrain", "chat", "--reason=a"}, "invalid traffic action flags; use --help"},
		{"wrong type", []string{"drain", "--yes=maybe"}, "invalid traffic action flags; use --help"},
		{"no name", append([]string{"drain", "-o=xml", "--dry-run=some"}, bad...), "exactly one inference service is required"},
		{"two names", append([]string{"drain", "a", "b", "-o=xml"}, bad...), "exactly one inference service is required"},
		{"format", append([]string{"drain", "Bad", "-o=xml", "--dry-run=some"}, bad...), "output must be table, wide, json or yaml"},
		{"dry run", append([]string{"drain", "Bad", "--dry-run=some"}, bad...), "dry-run must be none, client or server"},
		{"name", append([]string{"drain", "Bad"}, bad...), "invalid inference service name"},
		{"name like a secret", append([]string{"drain", token}, bad...), "invalid inference service name"},
		{"no cluster", []string{"drain", "chat", "--id=BAD", "--reason= r", "--cluster=hub"}, "traffic drain requires --workload-cluster; --cluster selects the Kubernetes API cluster"},
		{"id", append([]string{"drain", "chat"}, bad...), "traffic override ID must be a DNS-1123 label"},
		{"no id", []string{"undrain", "chat"}, "traffic override ID must be a DNS-1123 label"},
		{"cluster", []string{"drain", "chat", "--id=a", "--workload-cluster=Bad_", "--reason= r"}, "traffic drain cluster must be a DNS-1123 subdomain"},
		{"reason", []string{"drain", "chat", "--id=a", "--workload-cluster=a", "--reason= r", "-n=Bad"}, "traffic drain reason must be bounded, trimmed, printable, and non-secret"},
		{"no reason", []string{"drain", "chat", "--id=a", "--workload-cluster=a"}, "traffic drain reason must be bounded, trimmed, printable, and non-secret"},
		{"secret", []string{"drain", "chat", "--id=a", "--workload-cluster=a", "--reason=sk-123456789012345678901234"}, "traffic drain reason must be bounded, trimmed, printable, and non-secret"},
		{"namespace", []string{"undrain", "chat", "--id=a", "-n=Bad", "--context=bad context"}, "resolved workload namespace is invalid"},
		{"unknown context", []string{"undrain", "chat", "--id=a", "-n=prod", "--context=bad context"}, "selected kubeconfig context is unavailable or unsafe"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := s.execute(t, tc.args...)
			assert.Equal(t, 1, o.code)
			assert.Equal(t, tc.want, first(o.stderr))
			assert.Empty(t, o.stdout)
			assert.NotContains(t, o.stderr, "sk-1")
		})
	}
}

type change = func(metadata, object map[string]any)

func labelled(key string) change {
	return func(metadata, _ map[string]any) { metadata["labels"] = map[string]any{key: ""} }
}

// notEligible leaves the service placed by a mode alone.
func notEligible(_, object map[string]any) {
	object["spec"] = map[string]any{"placement": map[string]any{"mode": "All"}}
}

func manyAnnotations(metadata, _ map[string]any) {
	annotations := map[string]any{}
	for i := range 257 {
		annotations[fmt.Sprintf("a-%d", i)] = ""
	}
	metadata["annotations"] = annotations
}

func bigAnnotation(metadata, object map[string]any) {
	annotated("a", strings.Repeat("x", 65537))(metadata, object)
}

func noUID(metadata, _ map[string]any) { delete(metadata, "uid") }

func deleting(metadata, _ map[string]any) {
	metadata["deletionTimestamp"] = "2026-09-14T17:00:00Z"
}

func longCanary(_, object map[string]any) {
	object["status"] = map[string]any{"components": map[string]any{"engine": map[string]any{"traffic": make([]any, 9)}}}
}

// TestServices has what is refused after the read, in OME's order: each is found although all
// that come later are wrong as well.
func TestServices(t *testing.T) {
	later := []change{drained("null")}
	ordered := []struct {
		name   string
		change change
		want   string
	}{
		{"too many annotations", manyAnnotations, "traffic action refused: traffic-drain state exceeds safety bounds"},
		{"a derived copy", labelled("ome.io/placement-origin"), "action refused: placement sources and derived services cannot be mutated"},
		{"not eligible", notEligible, "traffic action refused: target is not eligible for cross-cluster traffic routing"},
		{"too many bytes", bigAnnotation, "traffic action refused: traffic-drain state exceeds safety bounds"},
		{"no UID", noUID, "action refused: target identity is missing or unsafe"},
		{"being deleted", deleting, "action refused: target is being deleted"},
		{"too many revisions", longCanary, "action refused: safety inputs exceed inspection bounds"},
		{"an old key as a label", labelled("ome.io/cluster-selector"), "action refused: placement sources and derived services cannot be mutated"},
	}
	for i := len(ordered) - 1; i >= 0; i-- {
		tc := ordered[i]
		if tc.name != "too many annotations" { // it replaces all annotations
			later = append(later, tc.change)
		}
		t.Run(tc.name, func(t *testing.T) {
			changes := slices.Clone(later)
			if tc.name == "too many annotations" {
				changes = append(changes, tc.change)
			}
			s := newServer(t, chat(changes...))
			o := s.execute(t, "drain", "chat", "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes")
			assert.Equal(t, 1, o.code)
			assert.Equal(t, tc.want, first(o.stderr))
			assert.Contains(t, o.stderr, "\ncause: ")
			assert.Empty(t, s.patches)
		})
	}
}

func TestMoreServices(t *testing.T) {
	for name, tc := range map[string]struct {
		change change
		want   string
	}{
		"control plane label":     {labelled("ome.io/placement-control-plane"), "action refused: placement sources and derived services cannot be mutated"},
		"origin UID":              {annotated("ome.io/placement-origin-uid", "x"), "action refused: placement sources and derived services cannot be mutated"},
		"origin as an annotation": {annotated("ome.io/placement-origin", "x"), "action refused: placement sources and derived services cannot be mutated"},
		"no generation":           {func(m, _ map[string]any) { m["generation"] = 0 }, "action refused: target identity is missing or unsafe"},
		"unsafe resourceVersion":  {func(m, _ map[string]any) { m["resourceVersion"] = "1 2" }, "action refused: target identity is missing or unsafe"},
		"another name":            {func(m, _ map[string]any) { m["name"] = "chat-2" }, "action target response does not match exact request"},
		"another namespace":       {func(m, _ map[string]any) { m["namespace"] = "dev" }, "action target response does not match exact request"},
		"another kind":            {func(_, o map[string]any) { o["kind"] = "Other" }, "action target response does not match exact request"},
		"another version":         {func(_, o map[string]any) { o["apiVersion"] = "ome.io/v1" }, "action target response does not match exact request"},
		"two kinds":               {func(_, o map[string]any) { o["Kind"] = "InferenceService" }, "action target response does not match exact request"},
		"deep":                    {func(_, o map[string]any) { o["status"] = deep(40) }, "traffic action refused: traffic-drain state exceeds safety bounds"},
		"large":                   {func(_, o map[string]any) { o["status"] = map[string]any{"a": strings.Repeat("x", 1<<20)} }, "traffic action refused: traffic-drain state exceeds safety bounds"},
		"one annotation too many": {func(m, o map[string]any) { manyAnnotations(m, o); delete(m["annotations"].(map[string]any), "a-0") }, "traffic action refused: traffic-drain state exceeds safety bounds"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, chat(tc.change))
			o := s.execute(t, "drain", "chat", "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes")
			assert.Equal(t, 1, o.code)
			assert.Equal(t, tc.want, first(o.stderr))
			assert.Empty(t, s.patches)
		})
	}
}

func deep(levels int) map[string]any {
	object := map[string]any{}
	for range levels {
		object = map[string]any{"a": object}
	}
	return object
}

// TestEligibleServices may be drained.
func TestEligibleServices(t *testing.T) {
	placement := func(fields map[string]any) change {
		return func(_, object map[string]any) { object["spec"] = map[string]any{"placement": fields} }
	}
	noPlacement := func(_, object map[string]any) { delete(object, "spec") }
	for name, changes := range map[string][]change{
		"requirements":     {placement(map[string]any{"requirements": "gpu"})},
		"clusterSelector":  {placement(map[string]any{"clusterSelector": "gpu"})},
		"clusterAffinity":  {placement(map[string]any{"policy": "ClusterAffinity"})},
		"split by size":    {placement(map[string]any{"mode": "SplitByCapacity"})},
		"older annotation": {noPlacement, annotated("ome.io/cluster-selector", "gpu")},
		"oldest one":       {noPlacement, annotated("ome.io/accelerator-requirements", "gpu")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, chat(changes...))
			assert.Zero(t, s.execute(t, "drain", "chat", "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes").code)
		})
	}
}

func jsonOf(object any) string {
	content, _ := json.Marshal(object)
	return string(content)
}

const statusOf = `{"kind":"Status","apiVersion":"v1","status":"Failure",%s}`

// TestAnswers has what becomes of each answer to the patch.
func TestAnswers(t *testing.T) {
	const failed = "required Kubernetes API request failed; check access and connectivity"
	const stale = "guarded annotation patch rejected; refresh traffic status and retry explicitly"
	other := func(change change) string { return jsonOf(chat(change)) }
	cases := map[string]struct {
		code  int
		body  string
		want  string
		cause string
		exit  int
	}{
		"conflict":             {409, fmt.Sprintf(statusOf, `"reason":"Conflict","message":"changed"`), stale, "", 3},
		"a failed test":        {422, fmt.Sprintf(statusOf, `"reason":"Invalid","message":"the server rejected our request due to an error in our request","details":{}`), stale, "", 3},
		"an invalid object":    {422, fmt.Sprintf(statusOf, `"reason":"Invalid","message":"spec.x is wrong","details":{"name":"chat","causes":[{"reason":"x"}]}`), failed, "spec.x is wrong", 1},
		"an admission webhook": {403, fmt.Sprintf(statusOf, `"reason":"Forbidden","message":"admission webhook \"traffic-drain.evenkeel.io\" denied the request: no\nsuch cluster"`), failed, `admission webhook "traffic-drain.evenkeel.io" denied the request: no such cluster`, 1},
		"a secret":             {403, fmt.Sprintf(statusOf, `"message":"bad value sk-123456789012345678901234"`), failed, "bad value <redacted>", 1},
		"no status":            {502, "bad gateway", failed, "the server answered with HTTP status 502", 1},
		"a redirect":           {307, "", failed, "the server answered with HTTP status 307", 1},
		"no JSON":              {200, "<html>", "API response is not safely bound to the request; outcome unknown, check traffic status", "", 1},
		"two names":            {200, `{"kind":"A","kind":"B"}`, "API response is not safely bound to the request; outcome unknown, check traffic status", "", 1},
		"another object":       {200, other(func(m, _ map[string]any) { m["uid"] = "other" }), "API response is not bound to the request; outcome unknown, check traffic status", "", 1},
		"no version":           {200, other(func(m, _ map[string]any) { m["resourceVersion"] = "" }), "API response is not bound to the request; outcome unknown, check traffic status", "", 1},
		"too large":            {200, strings.Repeat(" ", 1<<20+1), "API response exceeds safety bounds; outcome unknown, check traffic status", "", 1},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		tc := cases[name]
		t.Run(name, func(t *testing.T) {
			s := newServer(t, chat())
			s.patch = answerStatus(tc.code, tc.body)
			o := s.execute(t, "drain", "chat", "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes")
			assert.Equal(t, tc.exit, o.code)
			assert.Contains(t, o.stderr, "error: "+tc.want+"\n")
			if tc.cause != "" {
				assert.True(t, strings.HasSuffix(o.stderr, "\ncause: "+tc.cause+"\n"), o.stderr)
			}
			assert.Empty(t, o.stdout)
			assert.Len(t, s.patches, 1, "nothing is tried again")
		})
	}
}

// TestNoAnswer ends with the request's own timeout.
func TestNoAnswer(t *testing.T) {
	s := newServer(t, chat())
	release := make(chan struct{})
	s.get = func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	defer close(release)
	o := s.execute(t, "undrain", "chat", "--id=a", "--yes", "--request-timeout="+(50*time.Millisecond).String())
	assert.Equal(t, 1, o.code)
	assert.Equal(t, "error: context deadline exceeded\n", o.stderr)
}

func TestWarningsAreShown(t *testing.T) {
	s := newServer(t, chat())
	s.patch = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Warning", `299 - "cluster worker-a is pending"`)
		_, _ = io.WriteString(w, jsonOf(s.service))
	}
	o := s.execute(t, "drain", "chat", "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes")
	assert.Zero(t, o.code)
	assert.True(t, strings.HasSuffix(o.stderr, "Warning: cluster worker-a is pending\n"), o.stderr)
}

// TestRedirectsAreNotFollowed: a drain goes to the server that was asked for, with its credentials, or nowhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := newServer(t, chat())
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}
	asked := false
	elsewhere.get = func(http.ResponseWriter, *http.Request) { asked = true }
	for name, redirected := range map[string]func(*server){
		"the read":  func(s *server) { s.get = redirect },
		"the patch": func(s *server) { s.patch = redirect },
	} {
		s := newServer(t, chat())
		redirected(s)
		o := s.execute(t, "drain", "chat", "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes")
		assert.Equal(t, 1, o.code, name)
		assert.True(t, strings.HasSuffix(o.stderr, "error: required Kubernetes API request failed; check access and connectivity\n"+
			"cause: the server answered with HTTP status 307\n"), "%s: %s", name, o.stderr)
	}
	assert.False(t, asked)
	assert.Empty(t, elsewhere.patches)
}

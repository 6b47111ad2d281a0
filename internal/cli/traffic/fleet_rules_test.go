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
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/internal/cli"
)

// withAnswer has the server answer reads of one path by itself.
func (s *server) withAnswer(suffix string, answer http.HandlerFunc) *server {
	others := s.get
	s.get = func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, suffix) {
			answer(w, r)
			return
		}
		others(w, r)
	}
	return s
}

func answerObject(object any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object)
	}
}

var forbidden = answerStatus(http.StatusForbidden, fmt.Sprintf(statusOf, `"reason":"Forbidden","message":"not you","code":403`))

const notFound = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","details":{"name":"chat"},"code":404}`

// evenkeelTraffic runs `kubectl evenkeel traffic ...` without a terminal.
func (s *server) evenkeelTraffic(t *testing.T, args ...string) outcome {
	t.Helper()
	return s.executeAs(t, cli.Evenkeel, strings.NewReader("y\n"), args...)
}

// rowsIn gives the lines of a table below its header, spaces made one.
func rowsIn(output string) []string {
	var rows []string
	for _, line := range strings.Split(strings.TrimSpace(output), "\n")[1:] {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	return rows
}

// TestFleetArguments has what is refused before anything is asked of the API server.
func TestFleetArguments(t *testing.T) {
	s := newServer(t, chat())
	s.get = func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked for %s", r.URL) }
	fleet := []string{"drain", "--all-services", "--yes"}
	whole := append(slices.Clone(fleet), "--workload-cluster=a", "--id=a", "--reason=r")
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a name beside all":      {append(slices.Clone(whole), "chat"), "--all-services goes without the name of a service"},
		"namespaces of one":      {[]string{"drain", "chat", "-A", "--workload-cluster=a", "--id=a", "--reason=r"}, "--all-namespaces and --selector go with --all-services"},
		"a selector of one":      {[]string{"undrain", "chat", "-l", "a=b", "--id=a"}, "--all-namespaces and --selector go with --all-services"},
		"format":                 {append(slices.Clone(whole), "-o=xml"), "output must be table, wide, json or yaml"},
		"dry run":                {append(slices.Clone(whole), "--dry-run=some"), "dry-run must be none, client or server"},
		"no cluster":             {append(slices.Clone(fleet), "--id=a", "--reason=r"), "traffic drain requires --workload-cluster; --cluster selects the Kubernetes API cluster"},
		"no reason":              {append(slices.Clone(fleet), "--id=a", "--workload-cluster=a"), "traffic drain reason must be bounded, trimmed, printable, and non-secret"},
		"no id":                  {[]string{"undrain", "--all-services", "--yes"}, "traffic override ID must be a DNS-1123 label"},
		"namespace":              {append(slices.Clone(whole), "-n=Bad"), "resolved workload namespace is invalid"},
		"context":                {append(slices.Clone(whole), "--context=nowhere", "-n=prod"), "selected kubeconfig context is unavailable or unsafe"},
		"drains: format":         {[]string{"drains", "-o=xml"}, `unsupported output format "xml" (supported: table, wide, json, yaml)`},
		"status: format":         {[]string{"status", "chat", "-o=xml"}, `unsupported output format "xml" (supported: table, wide, json, yaml)`},
		"explain: format":        {[]string{"explain", "chat", "-o=xml"}, `unsupported output format "xml" (supported: table, wide, json, yaml)`},
		"status: name":           {[]string{"status", "Bad_"}, `invalid InferenceService name "Bad_": `},
		"undrain: blackout":      {[]string{"undrain", "--all-services", "--id=a", "--allow-blackout"}, "invalid traffic action flags; use --help"},
		"drains: what is no map": {[]string{"drains", "chat"}, `unknown command "chat"`},
	} {
		t.Run(name, func(t *testing.T) {
			o := s.evenkeelTraffic(t, tc.args...)
			assert.Equal(t, 1, o.code)
			assert.True(t, strings.HasPrefix(first(o.stderr), tc.want), o.stderr)
			assert.Empty(t, o.stdout)
		})
	}
}

// TestFleetAsksOnce and only where there is something to do; without a terminal only --yes says yes.
func TestFleetAsksOnce(t *testing.T) {
	drain := []string{"drain", "--all-services", "--workload-cluster=worker-a", "--id=rack-2", "--reason=rack 2 moves"}
	s := newHub(t, chat(), chat(named("prod", "code")))
	o := s.evenkeelTraffic(t, drain...)
	assert.Equal(t, 1, o.code)
	assert.True(t, strings.HasPrefix(o.stderr, "traffic drain of cluster worker-a as drain rack-2 (\"rack 2 moves\") in context hub, namespace prod, dry-run none\n"), o.stderr)
	assert.True(t, strings.HasSuffix(o.stderr, "2 to change, 0 as wanted already, 0 left out, 0 refused.\n"+
		"error: action not confirmed; noninteractive input requires --yes\n"), o.stderr)
	assert.Empty(t, o.stdout)
	assert.Empty(t, s.patches)

	s = newHub(t, chat(drained(`{"rack-2":{"cluster":"worker-a","reason":"r"}}`)))
	o = s.evenkeelTraffic(t, drain...)
	assert.Zero(t, o.code, o.stderr)
	assert.NotContains(t, o.stderr, "[y/N]")
	assert.Contains(t, o.stderr, "0 to change, 1 as wanted already, 0 left out, 0 refused.\n")
	assert.Empty(t, s.patches)

	s = newHub(t, chat())
	o = s.evenkeelTraffic(t, "drain", "--all-services", "--workload-cluster=worker-z", "--id=rack-2", "--reason=r")
	assert.Zero(t, o.code, o.stderr)
	assert.True(t, strings.HasSuffix(o.stderr, "No service is concerned.\n"), o.stderr)
	assert.Empty(t, o.stdout)
	o = s.evenkeelTraffic(t, "undrain", "--all-services", "--id=rack-2", "-o=json")
	assert.Zero(t, o.code, o.stderr)
	assert.Contains(t, o.stdout, `"items": []`)
}

// TestFleetScope has which services are listed.
func TestFleetScope(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"the namespace":   {nil, []string{"/namespaces/prod/inferenceservices?", "/namespaces/prod/trafficmaps?"}},
		"another":         {[]string{"-n=dev"}, []string{"/namespaces/dev/inferenceservices?", "/namespaces/dev/trafficmaps?"}},
		"all namespaces":  {[]string{"-A"}, []string{"/inferenceservices?", "/trafficmaps?"}},
		"those of a team": {[]string{"-A", "-l=team=a"}, []string{"/inferenceservices?labelSelector=team%3Da", "/trafficmaps?"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, command := range [][]string{
				{"drain", "--all-services", "--workload-cluster=worker-a", "--id=rack-2", "--reason=r", "--yes"},
				{"undrain", "--all-services", "--id=rack-2", "--yes"}, {"drains"},
			} {
				s := newServer(t, nil)
				var asked []string
				s.get = func(w http.ResponseWriter, r *http.Request) {
					query := r.URL.Query()
					query.Del("limit")
					asked = append(asked, strings.TrimPrefix(r.URL.Path, "/apis/ome.io/v1beta1")+"?"+query.Encode())
					answerObject(map[string]any{"apiVersion": "ome.io/v1beta1", "kind": "List", "items": []any{}})(w, r)
				}
				o := s.evenkeelTraffic(t, append(command, tc.args...)...)
				assert.Zero(t, o.code, o.stderr)
				assert.Equal(t, tc.want, asked)
			}
		})
	}
}

// TestFleetCannotList says of what.
func TestFleetCannotList(t *testing.T) {
	for _, resource := range []string{"inferenceservices", "trafficmaps"} {
		s := newHub(t, chat()).withAnswer("/"+resource, forbidden)
		for _, command := range [][]string{{"drains"}, {"undrain", "--all-services", "--id=a", "--yes"}} {
			o := s.evenkeelTraffic(t, command...)
			assert.Equal(t, 1, o.code)
			assert.Equal(t, "error: list "+resource+" failed\ncause: not you\n", o.stderr)
			assert.Empty(t, o.stdout)
		}
	}
}

// TestFleetDecidesAnew has each service read and judged once more right before its patch: the question may have waited long.
func TestFleetDecidesAnew(t *testing.T) {
	const service, trafficMap = "/inferenceservices/chat", "/trafficmaps/chat"
	down := answerStatus(http.StatusInternalServerError, fmt.Sprintf(statusOf, `"message":"down","code":500`))
	elsewhere := trafficMapOf("chat")
	elsewhere["spec"] = map[string]any{"service": "chat", "entries": []any{map[string]any{"cluster": "worker-b", "weight": 1, "healthy": true}}}
	for name, tc := range map[string]struct {
		path   string
		answer http.HandlerFunc
		code   int
		row    string
	}{
		"as it was":           {service, answerObject(chat()), 0, "Done worker-a 2 -> 0 -"},
		"it would be dark":    {service, answerObject(chat(drained(`{"b":{"cluster":"worker-b","reason":"r"}}`))), 2, "LeftOut worker-a 2 -> 0 nobody would serve it any more"},
		"it has the drain":    {service, answerObject(chat(drained(`{"rack-2":{"cluster":"worker-a","reason":"r"}}`))), 0, "Unchanged - has the drain already, at weight 2"},
		"its drains are bad":  {service, answerObject(chat(drained("null"))), 1, "Refused - top-level value must be a JSON object"},
		"it is to go":         {service, answerObject(chat(deleting)), 1, "Refused worker-a 2 -> 0 action refused: target is being deleted"},
		"it is gone":          {service, answerStatus(http.StatusNotFound, notFound), 1, "Failed worker-a 2 -> 0 required Kubernetes API request failed"},
		"it routes elsewhere": {trafficMap, answerObject(elsewhere), 0, "Unchanged - changed meanwhile and is not concerned any more"},
		"its map is gone":     {trafficMap, answerStatus(http.StatusNotFound, notFound), 0, "Unchanged - changed meanwhile and is not concerned any more"},
		"nobody can tell":     {trafficMap, down, 1, "Failed worker-a 2 -> 0 down"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newHub(t, chat()).withAnswer(tc.path, tc.answer)
			o := s.drainFleet(t)
			assert.Equal(t, tc.code, o.code, o.stderr)
			rows := rowsIn(o.stdout)
			require.Len(t, rows, 1, o.stdout)
			assert.True(t, strings.HasPrefix(rows[0], "prod chat "+tc.row), rows[0])
			assert.Len(t, s.patches, map[bool]int{true: 1}[name == "as it was"])
		})
	}
}

// TestFleetUndrain is about every service that has the drain, and about no other.
func TestFleetUndrain(t *testing.T) {
	const rack = `"rack-2":{"cluster":"worker-a","reason":"r"}`
	for name, tc := range map[string]struct {
		value string
		code  int
		row   string // none: it is not concerned
	}{
		"the only drain":              {"{" + rack + "}", 0, "Done worker-a 0 -> 2 cluster worker-a"},
		"held by another as well":     {`{"a":{"cluster":"worker-a","reason":"r"},` + rack + "}", 0, "Done no weight changes cluster worker-a stays held by a"},
		"another drain":               {`{"a":{"cluster":"worker-a","reason":"r"}}`, 0, ""},
		"malformed, about this drain": {"{" + rack + ",}", 1, "Refused - traffic action refused: existing traffic-drain annotation is malformed"},
		"malformed, about another":    {`{"a":{"cluster":"worker-a","reason":"rack-2 moves"},}`, 0, ""},
		"one beside it that no command can write": {
			`{"BAD ID":{"cluster":"a","reason":"r"},` + rack + "}", 1, "Refused - "},
		"nothing else but one that no command can write": {`{"BAD ID":{"cluster":"a","reason":"r"}}`, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newHub(t, chat(drained(tc.value)))
			o := s.evenkeelTraffic(t, "undrain", "--all-services", "--id=rack-2", "--yes")
			assert.Equal(t, tc.code, o.code, o.stderr)
			if tc.row == "" {
				assert.Contains(t, o.stderr, "No service is concerned.\n")
				assert.Empty(t, s.patches)
				return
			}
			assert.True(t, strings.HasPrefix(o.stderr, "traffic undrain of drain rack-2 in context hub, namespace prod, dry-run none\n"), o.stderr)
			rows := rowsIn(o.stdout)
			require.Len(t, rows, 1)
			assert.True(t, strings.HasPrefix(rows[0], "prod chat "+tc.row), rows[0])
			assert.Len(t, s.patches, map[bool]int{true: 1}[tc.code == 0])
		})
	}
}

// TestHowAFleetEnds has the exit code of each mixture: what failed counts more than what changed, and that more than what was
// left out.
func TestHowAFleetEnds(t *testing.T) {
	fl := &fleet{action: &action{name: actionDrain}}
	fl.drain.Cluster = "worker-a"
	for _, tc := range []struct {
		verdicts []verdict
		code     int
		says     string
	}{
		{nil, 0, ""},
		{[]verdict{verdictDone, verdictUnchanged, verdictPlanned, verdictChecked}, 0, ""},
		{[]verdict{verdictDone, verdictLeftOut}, cli.ExitUnfinished, "1 of 2 services still send traffic to worker-a"},
		{[]verdict{verdictLeftOut, verdictConflict, verdictDone}, cli.ExitConflict, "1 of 3 services changed meanwhile; run it again"},
		{[]verdict{verdictFailed, verdictConflict, verdictLeftOut}, cli.ExitError, "traffic drain failed for 2 of 3 services"},
		{[]verdict{verdictRefused, verdictDone}, cli.ExitError, "traffic drain failed for 1 of 2 services"},
	} {
		var results []*result
		for _, v := range tc.verdicts {
			results = append(results, &result{nil, decision{verdict: v}})
		}
		var stderr strings.Builder
		assert.Equal(t, tc.code, cli.Report(&stderr, fl.verdict(results)), "%v", tc.verdicts)
		assert.Contains(t, stderr.String(), tc.says)
	}
}

// TestDrains lists drains in every format, and what cannot be read.
func TestDrains(t *testing.T) {
	long := strings.Repeat("rack 2 moves ", 12)
	s := newHub(t,
		chat(drained(fmt.Sprintf(`{"b":{"cluster":"worker-z","reason":"typo"},"a":{"cluster":"worker-a","reason":%q}}`, strings.TrimSpace(long)))),
		chat(named("prod", "code"), drained("[]")), chat(named("prod", "rank"), drained(`{"odd":{"cluster":"a b","reason":"\u202e"},"secret":{"cluster":"worker-b","reason":"key sk-123456789012345678901234"}}`)), chat(named("prod", "none")))
	o := s.evenkeelTraffic(t, "drains")
	require.Zero(t, o.code, o.stderr)
	rows := rowsIn(o.stdout)
	require.Len(t, rows, 5)
	assert.True(t, strings.HasPrefix(rows[0], "prod chat a worker-a Waiting rack 2 moves rack 2") && strings.HasSuffix(rows[0], "..."), rows[0])
	assert.Equal(t, "prod chat b worker-z Pending typo", rows[1])
	assert.True(t, strings.HasPrefix(rows[2], `prod code - - Malformed "top-level value must be a JSON object keyed by override ID`), rows[2])
	assert.True(t, strings.HasPrefix(rows[3], "prod rank odd a b Pending "), rows[3])
	assert.NotContains(t, o.stdout, "\u202e")
	assert.Equal(t, "prod rank secret worker-b Waiting <redacted>", rows[4])
	assert.NotContains(t, s.evenkeelTraffic(t, "drains", "-o=json").stdout, "sk-1")

	o = s.evenkeelTraffic(t, "drains", "-o=wide")
	assert.Contains(t, o.stdout, strings.TrimSpace(long)+"\n", "wide cuts nothing")
	assert.Contains(t, s.evenkeelTraffic(t, "status", "chat", "-o=json").stdout, strings.TrimSpace(long)+`"`)
	assert.NotContains(t, s.evenkeelTraffic(t, "status", "chat").stdout, strings.TrimSpace(long))

	o = s.evenkeelTraffic(t, "drains", "--workload-cluster=worker-z", "-o=json")
	var list struct {
		APIVersion, Kind string
		Items            []drainItem
	}
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &list))
	assert.Equal(t, "cli.evenkeel.io/v1alpha1 TrafficDrainList", list.APIVersion+" "+list.Kind)
	require.Len(t, list.Items, 2, "one of the cluster, and one that cannot be read")
	assert.Equal(t, drainItem{Namespace: "prod", Service: "chat", ID: "b", Cluster: "worker-z", State: "Pending", Reason: "typo"}, list.Items[0])
	assert.EqualValues(t, "Malformed", list.Items[1].State)
	assert.Contains(t, s.evenkeelTraffic(t, "drains", "-o=yaml").stdout, "kind: TrafficDrainList\n")

	o = newHub(t, chat()).evenkeelTraffic(t, "drains")
	assert.Zero(t, o.code)
	assert.Equal(t, "No drains found.\n", o.stderr)
	assert.Empty(t, o.stdout)
	o = newHub(t, chat()).evenkeelTraffic(t, "drains", "-o=json")
	assert.Contains(t, o.stdout, `"items": []`)
}

// TestShowWhatIsMissing has what status and explain say where there is no service, no OME, or no map that can be read.
func TestShowWhatIsMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		path   string
		answer http.HandlerFunc
		code   int
		says   string
	}{
		"no service": {"/inferenceservices/chat", answerStatus(http.StatusNotFound, notFound), 1, `error: get InferenceService "prod/chat": `},
		"no OME": {"/inferenceservices/chat", answerStatus(http.StatusNotFound, "404 page not found"), 1,
			"error: get InferenceService \"prod/chat\": OME does not appear to be installed on this cluster\n"},
		"no map": {"/trafficmaps/chat", answerStatus(http.StatusNotFound, notFound), 0, ""},
		"a map that may not be read": {"/trafficmaps/chat", forbidden, 0,
			"Warning: the TrafficMap prod/chat cannot be read, so its rows are left out: not you\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"status", "explain"} {
				s := newHub(t, chat()).withAnswer(tc.path, tc.answer)
				o := s.evenkeelTraffic(t, verb, "chat")
				assert.Equal(t, tc.code, o.code, o.stderr)
				assert.True(t, strings.HasPrefix(o.stderr, tc.says), o.stderr)
				assert.Equal(t, tc.says == "", o.stderr == "", o.stderr)
				assert.Equal(t, tc.code == 0, o.stdout != "")
			}
		})
	}
}

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
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/internal/cli"
)

// newHub is a server with services in namespace prod that each have a map, and answers both reads of one object and lists.
func newHub(t *testing.T, services ...map[string]any) *server {
	t.Helper()
	const root = "/apis/ome.io/v1beta1/namespaces/prod/"
	objects := map[string]any{}
	var maps []any
	for _, service := range services {
		name := service["metadata"].(map[string]any)["name"].(string)
		tm := trafficMapOf(name)
		objects[root+"inferenceservices/"+name], objects[root+"trafficmaps/"+name] = service, tm
		maps = append(maps, tm)
	}
	objects[root+"inferenceservices"] = map[string]any{"apiVersion": "ome.io/v1beta1", "kind": "InferenceServiceList", "items": services}
	objects[root+"trafficmaps"] = map[string]any{"apiVersion": "ome.io/v1beta1", "kind": "TrafficMapList", "items": maps}
	s := newServer(t, nil)
	s.get = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(objects[r.URL.Path])
	}
	s.patch = s.get
	return s
}

// trafficMapOf has worker-a with weight 2 and worker-b with 1.
func trafficMapOf(name string) map[string]any {
	entry := func(cluster string, weight int) map[string]any {
		return map[string]any{
			"cluster": cluster, "endpoint": "https://" + cluster, "weight": weight, "healthy": true,
			"capacity": map[string]any{"allocated": weight, "ready": weight},
		}
	}
	return map[string]any{
		"apiVersion": "ome.io/v1beta1", "kind": "TrafficMap", "metadata": map[string]any{"namespace": "prod", "name": name},
		"spec": map[string]any{"service": name, "entries": []any{entry("worker-a", 2), entry("worker-b", 1)}},
	}
}

func (s *server) drainFleet(t *testing.T, more ...string) outcome {
	t.Helper()
	args := append([]string{"drain", "--all-services", "--workload-cluster=worker-a", "--id=rack-2", "--reason=r", "--yes"}, more...)
	return s.executeAs(t, cli.Evenkeel, strings.NewReader(""), args...)
}

func TestFleetOutcomes(t *testing.T) {
	has := func(cluster string) func(metadata, object map[string]any) {
		return drained(fmt.Sprintf(`{"rack-2":{"cluster":%q,"reason":"r"}}`, cluster))
	}
	for name, tc := range map[string]struct {
		service map[string]any
		patch   http.HandlerFunc
		args    []string
		code    int
		// row is that of the service, spaces made one; says is on stderr.
		row, says string
		patches   int
	}{
		"done":                     {service: chat(), row: "Done worker-a 2 -> 0 -", patches: 1},
		"checked":                  {service: chat(), args: []string{"--dry-run=server"}, row: "Checked worker-a 2 -> 0 -", patches: 1},
		"not sent":                 {service: chat(), args: []string{"--dry-run=client"}, row: "Planned worker-a 2 -> 0 -"},
		"there already":            {service: chat(has("worker-a")), row: "Unchanged - has the drain already, at weight 2"},
		"another drain of that ID": {service: chat(has("worker-b")), code: 1, row: "Refused - drain rack-2 holds cluster worker-b here; choose another ID", says: "traffic drain failed for 1 of 1 services"},
		"changed meanwhile": {
			service: chat(), patch: answerStatus(http.StatusConflict, `{"kind":"Status","reason":"Conflict","code":409}`), patches: 1,
			code: 3, row: "Conflict worker-a 2 -> 0 guarded annotation patch rejected", says: "error: 1 of 1 services changed meanwhile; run it again\n",
		},
		"refused by the server": {
			service: chat(), patch: answerStatus(http.StatusForbidden, `{"kind":"Status","reason":"Forbidden","message":"no","code":403}`), patches: 1,
			code: 1, row: "Failed worker-a 2 -> 0 required Kubernetes API request failed", says: "mend what DETAIL says",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newHub(t, tc.service)
			if tc.patch != nil {
				s.patch = tc.patch
			}
			o := s.drainFleet(t, tc.args...)
			assert.Equal(t, tc.code, o.code, o.stderr)
			lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
			require.Len(t, lines, 2, o.stdout)
			row := strings.Join(strings.Fields(lines[1]), " ")
			assert.True(t, strings.HasPrefix(row, "prod chat "+tc.row), row)
			assert.Contains(t, o.stderr, tc.says)
			assert.Len(t, s.patches, tc.patches)
			for _, p := range s.patches {
				assert.Equal(t, name == "checked", strings.Contains(p.query, "dryRun=All"))
				assert.NotContains(t, p.body, "allow-blackout")
			}
		})
	}
}

func TestFleetTakesAllServicesAndGoesOnPastFailures(t *testing.T) {
	s := newHub(t, chat(), chat(named("prod", "code")), chat(named("prod", "rank")))
	answer := s.patch
	s.patch = func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/code") {
			answerStatus(http.StatusInternalServerError, `{"kind":"Status","code":500}`)(w, r)
			return
		}
		answer(w, r)
	}
	o := s.drainFleet(t, "-o", "json")
	assert.Equal(t, 1, o.code)
	var said struct {
		APIVersion, Kind, Action, OverrideID, Cluster string
		Items                                         []struct{ Namespace, Name, Result string }
	}
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &said))
	assert.Equal(t, "cli.evenkeel.io/v1alpha1 TrafficFleetResult traffic drain rack-2 worker-a",
		strings.Join([]string{said.APIVersion, said.Kind, said.Action, said.OverrideID, said.Cluster}, " "))
	var results []string
	for _, i := range said.Items {
		results = append(results, i.Namespace+"/"+i.Name+" "+i.Result)
	}
	assert.Equal(t, []string{"prod/chat Done", "prod/code Failed", "prod/rank Done"}, results)
}

func TestFleetInsists(t *testing.T) {
	s := newHub(t, chat(drained(`{"b":{"cluster":"worker-b","reason":"r"}}`)))
	o := s.drainFleet(t)
	assert.Equal(t, 2, o.code, o.stderr)
	assert.Contains(t, o.stderr, "1 of 1 services still send traffic to worker-a")
	assert.Empty(t, s.patches)
	o = s.drainFleet(t, "--allow-blackout")
	assert.Zero(t, o.code, o.stderr)
	require.Len(t, s.patches, 1)
	assert.Contains(t, s.patches[0].body, `{"op":"add","path":"/metadata/annotations/evenkeel.io~1allow-blackout","value":"rack-2"}`)
}

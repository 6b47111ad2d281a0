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
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/evenkeel-io/evenkeel/internal/cli"
)

const tests = `{"op":"test","path":"/metadata/uid","value":"` + testUID + `"},{"op":"test","path":"/metadata/resourceVersion","value":"` + testRV + `"}`

// TestPatches are exact: what is tested, and that nothing but the one annotation is written.
func TestPatches(t *testing.T) {
	const drains = "/metadata/annotations/ome.io~1traffic-drain"
	drain := []string{"drain", "chat", "--workload-cluster=worker-a", "--id=a", "--reason=<r & s>", "--yes"}
	const encoded = `"{\"a\":{\"cluster\":\"worker-a\",\"reason\":\"\\u003cr \\u0026 s\\u003e\"}}"`
	for name, tc := range map[string]struct {
		service map[string]any
		args    []string
		query   string
		want    string
	}{
		"no annotations": {chat(), drain, "",
			`[` + tests + `,{"op":"add","path":"/metadata/annotations","value":{}},{"op":"add","path":"` + drains + `","value":` + encoded + `}]`},
		"other annotations": {chat(annotated("other", "x")), drain, "",
			`[` + tests + `,{"op":"add","path":"` + drains + `","value":` + encoded + `}]`},
		"other drains": {chat(drained(`{"b" : {"reason":"r","cluster":"worker-b"}}`)), drain, "",
			`[` + tests + `,{"op":"replace","path":"` + drains + `","value":"{\"a\":{\"cluster\":\"worker-a\",\"reason\":\"\\u003cr \\u0026 s\\u003e\"},\"b\":{\"cluster\":\"worker-b\",\"reason\":\"r\"}}"}]`},
		"no drain yet in the annotation": {chat(drained(`{}`)), append(drain, "--dry-run=server"), "dryRun=All",
			`[` + tests + `,{"op":"replace","path":"` + drains + `","value":` + encoded + `}]`},
		"the last drain": {chat(drained(one("a", okBody))), []string{"undrain", "chat", "--id=a", "--yes"}, "",
			`[` + tests + `,{"op":"remove","path":"` + drains + `"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, tc.service)
			o := s.execute(t, tc.args...)
			require.Zero(t, o.code, o.stderr)
			require.Len(t, s.patches, 1)
			p := s.patches[0]
			assert.JSONEq(t, tc.want, p.body)
			assert.Equal(t, "/apis/ome.io/v1beta1/namespaces/prod/inferenceservices/chat", p.path)
			assert.Equal(t, tc.query, p.query)
			assert.Equal(t, "application/json-patch+json", p.contentType)
		})
	}
}

func TestClientDryRunSendsNothing(t *testing.T) {
	s := newServer(t, chat())
	o := s.execute(t, "drain", "chat", "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes", "--dry-run=client")
	assert.Zero(t, o.code, o.stderr)
	assert.Empty(t, s.patches)
}

// TestInsisting is Evenkeel's only: the guard is told which drain may leave nobody to serve.
func TestInsisting(t *testing.T) {
	s := newServer(t, chat(annotated("other", "x")))
	o := s.executeAs(t, cli.Evenkeel, nil, "drain", "chat", "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes", "--allow-blackout")
	require.Zero(t, o.code, o.stderr)
	assert.Contains(t, s.patches[0].body, `{"op":"add","path":"/metadata/annotations/evenkeel.io~1allow-blackout","value":"a"}`)
	o = s.execute(t, "drain", "chat", "--workload-cluster=worker-a", "--id=a", "--reason=r", "--yes", "--allow-blackout")
	assert.Equal(t, 1, o.code)
}

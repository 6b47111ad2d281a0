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

package guarded

import (
	"strings"
	"testing"
	"unicode"

	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
)

// FuzzDecode: whatever an API server answers, nothing panics, and a plan is about a service
// with a safe identity.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"ome.io/v1beta1","kind":"InferenceService","metadata":{"name":"chat","namespace":"prod","uid":"u","resourceVersion":"1","generation":1},"spec":{"placement":{"clusterSelector":"gpu"}}}`))
	f.Add([]byte(`{"kind":"A","Kind":"B"}`))
	f.Add([]byte(`{"metadata":{"annotations":{"ome.io/traffic-drain":"{}"}},"status":{"components":{"engine":{"traffic":[1]}}}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decode(data)
		if err != nil {
			return
		}
		_ = s.differs("prod", "chat", "u")
		p, err := PlanDrain(s, trafficdrain.Drain{ID: "a", Cluster: "worker-a", Reason: "r"})
		if err != nil {
			return
		}
		if p.Service.UID == "" || p.Service.ResourceVersion == "" || len(p.operations()) < 3 {
			t.Fatalf("a plan without identity for %q", data)
		}
	})
}

// FuzzOneLine: foreign text never moves the cursor and never grows without end.
func FuzzOneLine(f *testing.F) {
	f.Add("admission webhook denied the request: no\r\n\x1b[2Jsuch cluster\u202e")
	f.Add("token sk-123456789012345678901234, \"sk-123456789012345678901234\"")
	f.Add(strings.Repeat("維", 1000))
	f.Fuzz(func(t *testing.T, s string) {
		got := OneLine(s)
		if len(got) > maxLine+len("...") {
			t.Fatalf("%d bytes", len(got))
		}
		for _, r := range got {
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Fatalf("%q holds %U", got, r)
			}
		}
	})
}

func TestOneLineTakesSecretsOut(t *testing.T) {
	const key = "sk-123456789012345678901234"
	for _, s := range []string{key, `bad value "` + key + `".`, "(" + key + ")", "a\n" + key + ";"} {
		if got := OneLine(s); strings.Contains(got, key) {
			t.Errorf("%q still holds the secret", got)
		}
	}
}

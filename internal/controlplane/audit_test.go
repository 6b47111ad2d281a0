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

package controlplane

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecodeAuditEvents(t *testing.T) {
	const create, patch = `{"verb":"create","user":{"username":"a"}}` + "\n", `{"verb":"patch"}` + "\n"
	tests := map[string]struct {
		log     string
		want    []string
		wantErr string
	}{
		"empty":            {"", nil, ""},
		"two":              {create + patch, []string{"create", "patch"}, ""},
		"half-written end": {create + patch[:5], []string{"create"}, ""},
		"broken":           {create + "{\n" + patch, nil, "line 2 of the audit log"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			events, err := decodeAuditEvents(strings.NewReader(test.log))
			if test.wantErr != "" {
				require.ErrorContains(t, err, test.wantErr)
				return
			}
			require.NoError(t, err)
			var verbs []string
			for _, event := range events {
				verbs = append(verbs, event.Verb)
			}
			assert.Equal(t, test.want, verbs)
		})
	}
}

func FuzzDecodeAuditEvents(f *testing.F) {
	f.Add(`{"verb":"create"}` + "\n")
	f.Add("\n")
	f.Add(`{"user":{"extra":{"a":null}}}` + "\n" + `{"responseStatus":`)
	f.Fuzz(func(t *testing.T, log string) {
		events, err := decodeAuditEvents(strings.NewReader(log))
		if err == nil {
			assert.Len(t, events, strings.Count(log, "\n"), "one event for each complete line")
		}
	})
}

func TestAuditWithoutPolicy(t *testing.T) {
	cp := &ControlPlane{}
	assert.Empty(t, cp.AuditLogPath())
	_, err := cp.AuditEvents()
	assert.ErrorContains(t, err, "start it with Options.AuditPolicy")
}

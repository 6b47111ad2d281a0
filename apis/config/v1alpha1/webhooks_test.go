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

package v1alpha1

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHubWebhooks(t *testing.T) {
	for name, tc := range map[string]struct {
		in      string
		wantErr []string
	}{
		"none":        {in: `{"webhooks":{"bindAddress":"0"}}`},
		"all warned":  {in: `{"webhooks":{"trafficDrain":{"unknownCluster":"Warn","blackout":"Warn"}}}`},
		"all denied":  {in: `{"webhooks":{"trafficDrain":{"unknownCluster":"Deny","blackout":"Deny"}}}`},
		"no address":  {in: `{"webhooks":{"bindAddress":"9443"}}`, wantErr: []string{"webhooks.bindAddress"}},
		"no verdict":  {in: `{"webhooks":{"trafficDrain":{"unknownCluster":"deny","blackout":"Allow"}}}`, wantErr: []string{"webhooks.trafficDrain.unknownCluster", "webhooks.trafficDrain.blackout", `supported values: "Deny", "Warn"`}},
		"no names":    {in: `{"webhooks":{"namespace":"a.b","service":"1st","secret":"A","configuration":"a/b"}}`, wantErr: []string{"webhooks.namespace", "webhooks.service", "webhooks.secret", "webhooks.configuration"}},
		"not a field": {in: `{"webhooks":{"port":9443}}`, wantErr: []string{`unknown field "webhooks.port"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeHubManagerConfiguration([]byte(tc.in))
			if len(tc.wantErr) == 0 {
				require.NoError(t, err)
			}
			for _, part := range tc.wantErr {
				assert.ErrorContains(t, err, part)
			}
		})
	}
}

func TestAWebhookServersNames(t *testing.T) {
	s := WebhookServer{Secret: "mine"}
	setDefaultsWebhookServer(&s, "program")
	assert.Equal(t, WebhookServer{
		BindAddress: ":9443", Namespace: "evenkeel-system", Service: "program-webhooks", Secret: "mine", Configuration: "evenkeel-program",
	}, s)
}

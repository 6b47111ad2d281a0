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

package webhooks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

const (
	key    = ome.TrafficDrainAnnotation
	denied = `admission webhook "traffic-drain.evenkeel.io" denied the request: `
	one    = `{"maintenance-a":{"cluster":"worker-a","reason":"planned maintenance"}}`
)

// TestRefusedDrainEdits shows each refusal in the words that a person sees, for a service with drains or without.
func TestRefusedDrainEdits(t *testing.T) {
	namespace := namespaced(t)
	for name, tc := range map[string]struct {
		before string
		edit   []string
		want   string
	}{
		"malformed": {edit: []string{key, `{"a":{"cluster":"worker-a"}}`}, want: "override \"a\" reason must be non-empty. Write one JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			service := newService(t, namespace, entry("worker-a", 7), entry("worker-b", 3))
			if tc.before != "" {
				require.NoError(t, hub.client.Patch(t.Context(), service, annotate(key, tc.before)))
			}
			version := service.ResourceVersion
			for _, options := range [][]client.PatchOption{{client.DryRunAll}, nil} {
				err := hub.client.Patch(t.Context(), service, annotate(tc.edit...), options...)
				require.Error(t, err)
				assert.True(t, apierrors.IsForbidden(err), "%v", err)
				message, ours := strings.CutPrefix(err.Error(), denied)
				require.True(t, ours, err.Error())
				assert.Contains(t, message, tc.want)
			}
			require.NoError(t, hub.client.Get(t.Context(), client.ObjectKeyFromObject(service), service))
			assert.Equal(t, version, service.ResourceVersion, "a refused edit changes nothing")
		})
	}
}

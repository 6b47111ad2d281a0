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
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheShippedConfigurationSpellsOutTheDefaults(t *testing.T) {
	data, err := os.ReadFile("../../../manifests/hub/manager/config.yaml")
	require.NoError(t, err)
	shipped, err := DecodeHubManagerConfiguration(data)
	require.NoError(t, err)
	defaults, err := DecodeHubManagerConfiguration(nil)
	require.NoError(t, err)
	shipped.TypeMeta = metav1.TypeMeta{}
	shipped.ModelDeployments.OwnCompositions = nil
	assert.Equal(t, defaults, shipped)
}

func TestDecodeHubManagerConfiguration(t *testing.T) {
	const header = "apiVersion: config.evenkeel.io/v1alpha1\nkind: HubManagerConfiguration\n"
	for name, tc := range map[string]struct {
		in      string
		wantErr []string
	}{
		"nothing":                  {in: ""},
		"empty":                    {in: header},
		"zero is not the default":  {in: header + "modelDeployments: {settleTime: 0s, historyLimit: 0}\n"},
		"no limit":                 {in: header + "clientConnection: {qps: -1}\n"},
		"nothing served":           {in: header + "healthBindAddress: \"0\"\nmetricsBindAddress: \"0\"\n"},
		"unknown field":            {in: header + "modelDeployment: {}\n", wantErr: []string{`unknown field "modelDeployment"`}},
		"unknown field deep down":  {in: header + "modelDeployments: {settletime: 1m}\n", wantErr: []string{`unknown field "modelDeployments.settletime"`}},
		"field given twice":        {in: header + "healthBindAddress: \":1\"\nhealthBindAddress: \":2\"\n", wantErr: []string{"healthBindAddress"}},
		"another kind":             {in: "apiVersion: config.evenkeel.io/v1alpha1\nkind: PreemptionArgs\n", wantErr: []string{"PreemptionArgs"}},
		"another version":          {in: "apiVersion: config.evenkeel.io/v9\nkind: HubManagerConfiguration\n", wantErr: []string{"v9"}},
		"no YAML":                  {in: "{", wantErr: []string{"decode HubManagerConfiguration"}},
		"no duration":              {in: header + "modelDeployments: {settleTime: soon}\n", wantErr: []string{"soon"}},
		"always stuck":             {in: header + "inferenceClusters: {stuckAfter: 0s}\n", wantErr: []string{"inferenceClusters.stuckAfter", "0s", "at least 1s"}},
		"negative duration":        {in: header + "modelDeployments: {settleTime: -1s}\n", wantErr: []string{"modelDeployments.settleTime", "-1s", "must not be negative"}},
		"negative timeouts":        {in: header + "modelDeployments: {disruption: {readyTimeout: -1s, trafficGracePeriod: -1s, requestGracePeriod: -1s}}\n", wantErr: []string{"modelDeployments.disruption.readyTimeout", "trafficGracePeriod", "requestGracePeriod"}},
		"a careful default":        {in: header + "modelDeployments: {disruption: {maxUnavailable: 30%, strategy: MakeBeforeBreak, whenUnplaceable: Hold, paused: true}}\n"},
		"negative budget":          {in: header + "modelDeployments: {disruption: {maxUnavailable: -1}}\n", wantErr: []string{"modelDeployments.disruption.maxUnavailable", "-1"}},
		"budget of too much":       {in: header + "modelDeployments: {disruption: {maxUnavailable: 101%}}\n", wantErr: []string{"modelDeployments.disruption.maxUnavailable", "101%"}},
		"budget of words":          {in: header + "modelDeployments: {disruption: {maxUnavailable: many}}\n", wantErr: []string{"modelDeployments.disruption.maxUnavailable", "many"}},
		"unknown strategy":         {in: header + "modelDeployments: {disruption: {strategy: recreate, whenUnplaceable: hold}}\n", wantErr: []string{"disruption.strategy", "MakeBeforeBreak", "disruption.whenUnplaceable", "Hold"}},
		"negative limits":          {in: header + "modelDeployments: {maxParallelMoves: -1, maxLoadingPerCluster: -1, degradedAfter: -1s}\n", wantErr: []string{"modelDeployments.maxParallelMoves", "modelDeployments.maxLoadingPerCluster", "modelDeployments.degradedAfter"}},
		"negative history":         {in: header + "modelDeployments: {historyLimit: -1, ttlAfterFinished: -1s}\n", wantErr: []string{"modelDeployments.historyLimit", "modelDeployments.ttlAfterFinished"}},
		"negative verdict timeout": {in: header + "modelDeployments: {verdictTimeout: -1s}\n", wantErr: []string{"modelDeployments.verdictTimeout"}},
		"nobody works":             {in: header + "modelDeployments: {maxConcurrentReconciles: 0}\n", wantErr: []string{"modelDeployments.maxConcurrentReconciles", "at least 1"}},
		"too many work":            {in: header + "modelDeployments: {maxConcurrentReconciles: 1001}\n", wantErr: []string{"modelDeployments.maxConcurrentReconciles", "at most 1000"}},
		"no scheduler":             {in: header + "modelDeployments: {schedulerNames: []}\n", wantErr: []string{"modelDeployments.schedulerNames", "would do nothing"}},
		"a scheduler twice":        {in: header + "modelDeployments: {schedulerNames: [a, a]}\n", wantErr: []string{"modelDeployments.schedulerNames[1]"}},
		"no name":                  {in: header + "modelDeployments: {schedulerNames: [\"A B\"], ownCompositions: [\"\"]}\n", wantErr: []string{"modelDeployments.schedulerNames[0]", "modelDeployments.ownCompositions[0]"}},
		"no requests":              {in: header + "clientConnection: {qps: 0, burst: 0}\n", wantErr: []string{"clientConnection.qps", "clientConnection.burst"}},
		"no address":               {in: header + "healthBindAddress: \"8081\"\nmetricsBindAddress: \":99999\"\n", wantErr: []string{"healthBindAddress", "metricsBindAddress"}},
		"no lease":                 {in: header + "leaderElection: {resourceNamespace: A, resourceName: \"a/b\"}\n", wantErr: []string{"leaderElection.resourceNamespace", "leaderElection.resourceName"}},
		"a lease that cannot hold": {in: header + "leaderElection: {leaseDuration: 5s, renewDeadline: 5s, retryPeriod: 5s}\n", wantErr: []string{"leaderElection.renewDeadline", "leaderElection.leaseDuration"}},
		"a retry without a pause":  {in: header + "leaderElection: {retryPeriod: -1s}\n", wantErr: []string{"leaderElection.retryPeriod"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := DecodeHubManagerConfiguration([]byte(tc.in))
			if len(tc.wantErr) == 0 {
				require.NoError(t, err)
				require.NotNil(t, c)
				return
			}
			for _, part := range tc.wantErr {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

func TestAnExplicitZeroStays(t *testing.T) {
	c, err := DecodeHubManagerConfiguration([]byte(`{"modelDeployments":{"settleTime":"0s","historyLimit":0},"leaderElection":{"leaderElect":false}}`))
	require.NoError(t, err)
	assert.Zero(t, c.ModelDeployments.SettleTime.Duration)
	assert.Zero(t, *c.ModelDeployments.HistoryLimit)
	assert.False(t, *c.LeaderElection.LeaderElect)
	assert.Equal(t, 10*time.Minute, c.ModelDeployments.Disruption.ReadyTimeout.Duration)
}

func FuzzDecodeHubManagerConfiguration(f *testing.F) {
	data, err := os.ReadFile("../../../manifests/hub/manager/config.yaml")
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"clientConnection":{"qps":null},"modelDeployments":{"settleTime":"1s","schedulerNames":[""]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := DecodeHubManagerConfiguration(data)
		if (c == nil) == (err == nil) {
			t.Fatalf("got %v and %v", c, err)
		}
	})
}

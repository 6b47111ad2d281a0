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

package trafficdrain

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// Path is where the webhook is served.
const Path = "/validate-ome-io-v1beta1-inferenceservice-traffic-drain"

// Setup serves the webhook, and begins to watch what it reads.
func Setup(ctx context.Context, mgr ctrl.Manager, config configapi.TrafficDrainGuard) error {
	for _, kind := range []client.Object{&v1beta1.TrafficMap{}, &v1beta1.WorkloadCluster{}} {
		if _, err := mgr.GetCache().GetInformer(ctx, kind); err != nil {
			return fmt.Errorf("watch what the traffic guard reads: %w", err)
		}
	}
	mgr.GetWebhookServer().Register(Path, &admission.Webhook{Handler: &Guard{Reader: mgr.GetCache(), Config: config}})
	return nil
}

// SetupUnserved answers where the hub does not serve all kinds that the guard reads: it refuses, since it cannot tell a
// good drain from a bad one, and says what is missing.
func SetupUnserved(mgr ctrl.Manager, missing []string) {
	mgr.GetWebhookServer().Register(Path, &admission.Webhook{Handler: unserved(missing)})
}

func unserved(missing []string) admission.HandlerFunc {
	err := fmt.Errorf("drains cannot be judged: the hub did not serve %s when hub-manager started. Install what is missing, then restart hub-manager",
		strings.Join(missing, ", "))
	return func(context.Context, admission.Request) admission.Response {
		return admission.Errored(http.StatusServiceUnavailable, err)
	}
}

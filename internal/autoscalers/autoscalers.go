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

// Package autoscalers tells who scales a Deployment. It must not judge what follows from that.
package autoscalers

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// For gives the name of the autoscaler of a Deployment, for messages, or "". Scalers of other kinds, such as KEDA's,
// make a HorizontalPodAutoscaler too.
func For(ctx context.Context, reader client.Reader, d *appsv1.Deployment) (string, error) {
	list := &autoscalingv2.HorizontalPodAutoscalerList{}
	if err := reader.List(ctx, list, client.InNamespace(d.Namespace)); err != nil {
		return "", fmt.Errorf("look for an autoscaler of Deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	for i := range list.Items {
		if target := &list.Items[i].Spec.ScaleTargetRef; target.Kind == "Deployment" && target.Name == d.Name {
			return "HorizontalPodAutoscaler " + list.Items[i].Name, nil
		}
	}
	return "", nil
}

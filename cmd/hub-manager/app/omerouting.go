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

package app

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"
)

// Where OME's manager reads at its start whether it is to route.
const (
	omeConfigMap = "inferenceservice-config"
	omeConfigKey = "multicluster"
)

// omeCheckInterval is how often OME's configuration is looked at again.
const omeCheckInterval = time.Minute

// watchOMERouting refuses to write TrafficMaps where OME does: two writers would undo each other without end. OME may be
// switched on later, so it is looked at again and again, and the manager then ends.
func watchOMERouting(ctx context.Context, mgr ctrl.Manager, namespace string) error {
	check := func(ctx context.Context) error { return checkOMERouting(ctx, mgr.GetAPIReader(), namespace) }
	if err := check(ctx); err != nil {
		return err
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		ticker := time.NewTicker(omeCheckInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
			if err := check(ctx); err != nil {
				return err
			}
		}
	}))
}

func checkOMERouting(ctx context.Context, reader client.Reader, namespace string) error {
	key := types.NamespacedName{Namespace: namespace, Name: omeConfigMap}
	config := &corev1.ConfigMap{}
	switch err := reader.Get(ctx, key, config); {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("trafficMap.enabled is set, but whether OME routes on this hub cannot be told: grant get on ConfigMap %s: %w", key, err)
	case err != nil:
		// It was told before, or will be: a hub that does not answer now is no reason to end.
		log.FromContext(ctx).Error(err, "Cannot tell whether OME routes on this hub", "configMap", key)
		return nil
	}
	on, err := omeRoutes(config.Data[omeConfigKey])
	if err != nil {
		return fmt.Errorf("trafficMap.enabled is set, but whether OME routes on this hub cannot be told: key %q of ConfigMap %s: %w", omeConfigKey, key, err)
	}
	if on {
		return fmt.Errorf("trafficMap.enabled is set, but OME's own routing is on (routing.enabled in key %q of ConfigMap %s): switch one of the two off", omeConfigKey, key)
	}
	return nil
}

// omeRoutes reads OME's setting, which is JSON or YAML.
func omeRoutes(setting string) (bool, error) {
	var parsed struct {
		Routing struct {
			Enabled bool `json:"enabled"`
		} `json:"routing"`
	}
	if err := yaml.Unmarshal([]byte(setting), &parsed); err != nil {
		return false, err
	}
	return parsed.Routing.Enabled, nil
}

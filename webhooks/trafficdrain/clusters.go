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
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configapi "github.com/evenkeel-io/evenkeel/apis/config/v1alpha1"
	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	drains "github.com/evenkeel-io/evenkeel/internal/trafficdrain"
	"github.com/evenkeel-io/evenkeel/internal/trafficmap"
)

// judgeAdded judges new drains by what the hub knows of their clusters.
func (g *Guard) judgeAdded(ctx context.Context, e *edit, v *verdict) error {
	tm, err := g.trafficMap(ctx, e)
	if err != nil {
		return err
	}
	registered, err := g.registered(ctx)
	if err != nil {
		return err
	}
	var serving []string
	if tm != nil {
		for _, entry := range tm.Spec.Entries {
			serving = append(serving, entry.Cluster)
		}
	}
	for _, d := range v.review.Diff.Added {
		switch drains.StandingOf(d.Cluster, serving, registered) {
		case drains.StandingUnknown:
			unknown := drains.UnknownCluster(d, serving, registered)
			if g.deniesUnknown(tm != nil) {
				v.refuseBy(unknown)
				return nil
			}
			v.warn("%s", unknown.Explain())
		case drains.StandingPending:
			v.warn("drain %q is pending: cluster %q has no entry in the service's TrafficMap; the drain holds it from the moment that one appears", d.ID, d.Cluster)
		}
	}
	if tm != nil {
		g.judgeTraffic(e, tm, v)
	}
	return nil
}

func (g *Guard) deniesUnknown(mapped bool) bool {
	if g.Config.UnknownCluster == "" {
		return mapped
	}
	return g.Config.UnknownCluster == configapi.VerdictDeny
}

// trafficMap gives the service's map, or nil. One that belongs to an earlier service of the same name says nothing about
// this one.
func (g *Guard) trafficMap(ctx context.Context, e *edit) (*v1beta1.TrafficMap, error) {
	tm := &v1beta1.TrafficMap{}
	if err := g.Reader.Get(ctx, e.key(), tm); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read its TrafficMap: %w", err)
	}
	if owner := metav1.GetControllerOf(tm); owner != nil && owner.UID != e.object.UID {
		return nil, nil
	}
	return tm, nil
}

func (g *Guard) registered(ctx context.Context) ([]string, error) {
	list := &v1beta1.WorkloadClusterList{}
	if err := g.Reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list WorkloadClusters: %w", err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}

// judgeTraffic computes what the new drains do to the weights.
func (g *Guard) judgeTraffic(e *edit, tm *v1beta1.TrafficMap, v *verdict) {
	effect := trafficmap.Preview(trafficmap.MapInput(tm, e.service()), v.review.Old, v.review.New)
	for _, cluster := range effect.Idle {
		entry, _ := effect.Before.Entry(cluster)
		v.warn("cluster %q has weight 0 already: %s", cluster, trafficmap.ZeroCauseOf(entry))
	}
	if !effect.Blackout() {
		return
	}
	if insisted(e, v.review.Diff.Added) {
		v.warn("%s; annotation %s insists on it", blackout(e, effect, v.review.Diff.Added), allowBlackout)
		return
	}
	message := blackout(e, effect, v.review.Diff.Added) + ". " + blackoutCure(e, v.review.Diff.Added)
	if g.Config.Blackout == configapi.VerdictWarn {
		v.warn("%s", message)
		return
	}
	v.refuse(ruleBlackout, errors.New(message))
}

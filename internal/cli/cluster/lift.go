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

package cluster

import (
	"context"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/cluster/taints"
)

// lifted is a cluster from which a taint was taken.
type lifted struct {
	client *cli.Client
	taint  modelplane.Taint
	// before and after are the cluster with the taint and without it.
	before, after *modelplane.InferenceCluster
}

// lift takes the taint of an effect away, after a warning if others own it. Where the cluster has no such taint it says
// what absent makes of it, and returns nil.
func (c *change) lift(ctx context.Context, name string, effect modelplane.TaintEffect, absent func(modelplane.Taint) string) (*lifted, error) {
	if err := c.validateTaint(); err != nil {
		return nil, err
	}
	client, err := c.Client()
	if err != nil {
		return nil, err
	}
	cluster, err := read(ctx, c.Factory, client, name)
	if err != nil {
		return nil, err
	}
	taint := c.taint(effect)
	if _, has := taints.Find(cluster, taint.Key, taint.Effect); !has {
		if err := c.say(cluster, absent(taint)); err != nil {
			return nil, err
		}
		return nil, c.tellOtherTaints(cluster)
	}
	if err := c.warnOfOwners(cluster, others(taints.Owners(cluster, taint), c.manager)); err != nil {
		return nil, err
	}
	after, err := c.remove(ctx, client, cluster, taint)
	if err != nil {
		return nil, err
	}
	return &lifted{client: client, taint: taint, before: cluster, after: after}, nil
}

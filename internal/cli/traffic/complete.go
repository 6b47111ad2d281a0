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

package traffic

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/complete"
	"github.com/evenkeel-io/evenkeel/internal/trafficdrain"
	"github.com/evenkeel-io/evenkeel/internal/trafficmap"
)

var workloadClusters = v1beta1.GroupVersion.WithResource("workloadclusters")

// completeService completes the first argument with the names of the services that the command may be about.
func completeService(f *cli.Factory, wanted func(*v1beta1.InferenceService) bool) cobra.CompletionFunc {
	return complete.First(complete.With(func(ctx context.Context, _ []string) ([]string, error) {
		services, err := servicesOf(ctx, f, false)
		var names []string
		for i := range services {
			if wanted(&services[i]) {
				names = append(names, services[i].Name)
			}
		}
		return names, err
	}))
}

func anyService(*v1beta1.InferenceService) bool { return true }

// routedService is one that drain does not refuse for what it is.
func routedService(isvc *v1beta1.InferenceService) bool {
	return trafficmap.Eligible(isvc) && !trafficdrain.IsDerivedCopy(isvc.Labels, isvc.Annotations)
}

func drainedService(isvc *v1beta1.InferenceService) bool { return len(drainsOf(isvc)) > 0 }

// drainsOf are a service's drains as far as they can be read.
func drainsOf(isvc *v1beta1.InferenceService) trafficdrain.Drains {
	drains, err := trafficdrain.ValueOf(isvc.Annotations).Parse()
	if err != nil {
		return nil
	}
	return drains
}

// servicesOf lists the services of the namespace that the command works in, or of all.
func servicesOf(ctx context.Context, f *cli.Factory, all bool) ([]v1beta1.InferenceService, error) {
	client, err := f.Client()
	if err != nil {
		return nil, err
	}
	namespace, err := f.Namespace()
	if err != nil {
		return nil, err
	}
	if all {
		namespace = metav1.NamespaceAll
	}
	return cli.List[v1beta1.InferenceService](ctx, client, inferenceServices, namespace, metav1.ListOptions{})
}

// completeCluster completes with the clusters that serve the service which was named, and their weights. Without a
// service, or where it has no TrafficMap yet, it is all WorkloadClusters.
func completeCluster(f *cli.Factory) cobra.CompletionFunc {
	return complete.With(func(ctx context.Context, args []string) ([]string, error) {
		client, err := f.Client()
		if err != nil {
			return nil, err
		}
		if len(args) > 0 {
			if serving := clustersOf(ctx, f, client, args[0]); len(serving) > 0 {
				return serving, nil
			}
		}
		clusters, err := cli.List[v1beta1.WorkloadCluster](ctx, client, workloadClusters, metav1.NamespaceAll, metav1.ListOptions{})
		var names []string
		for i := range clusters {
			names = append(names, clusters[i].Name)
		}
		return names, err
	})
}

func clustersOf(ctx context.Context, f *cli.Factory, client *cli.Client, service string) []string {
	namespace, err := f.Namespace()
	if err != nil {
		return nil
	}
	tm, err := cli.Get[v1beta1.TrafficMap](ctx, client, trafficMaps, namespace, service)
	if err != nil {
		return nil
	}
	var clusters []string
	for _, e := range tm.Spec.Entries {
		clusters = append(clusters, fmt.Sprintf("%s\tweight %d", e.Cluster, e.Weight))
	}
	return clusters
}

// completeID completes with the drains of the service that was named, or of all in the scope, and the clusters that they
// hold.
func completeID(f *cli.Factory, s *scope) cobra.CompletionFunc {
	return complete.With(func(ctx context.Context, args []string) ([]string, error) {
		services, err := servicesOf(ctx, f, s.allNamespaces)
		held := map[string][]string{}
		for i := range services {
			if len(args) > 0 && services[i].Name != args[0] {
				continue
			}
			for _, d := range drainsOf(&services[i]) {
				held[d.ID] = append(held[d.ID], d.Cluster)
			}
		}
		var ids []string
		for id, clusters := range held {
			slices.Sort(clusters)
			ids = append(ids, id+"\t"+strings.Join(slices.Compact(clusters), ", "))
		}
		slices.Sort(ids)
		return ids, err
	})
}

// completeModes completes how an action is to work.
func completeModes(cmd *cobra.Command) {
	for flag, values := range map[string][]string{"dry-run": {dryRunNone, dryRunClient, dryRunServer}, "output": cli.Formats()} {
		if cmd.Flags().Lookup(flag) != nil {
			complete.Flag(cmd, flag, complete.Values(values...))
		}
	}
}

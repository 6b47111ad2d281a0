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

// Package complete completes the names of objects that people type. A shell waits for it, so that it asks for names only,
// and it says nothing.
package complete

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
)

// limit bounds the requests that a shell waits for.
const limit = 3 * time.Second

// pageSize is how many names are asked for at once.
const pageSize = 500

// Kind is what names are of.
type Kind struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

// Kinds whose names people type.
var (
	Clusters    = Kind{resource: modelplane.GroupVersion.WithResource("inferenceclusters")}
	Deployments = Kind{resource: modelplane.GroupVersion.WithResource("modeldeployments"), namespaced: true}
	Placements  = Kind{resource: evenkeel.GroupVersion.WithResource("replicaplacements"), namespaced: true}
	TrafficMaps = Kind{resource: ome.GroupVersion.WithResource("trafficmaps"), namespaced: true}
	namespaces  = Kind{resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}}
)

// Candidates reads what may come next on a command line that has the arguments so far. After a tab, a candidate may have
// a description, which shells show beside it.
type Candidates func(ctx context.Context, args []string) ([]string, error)

// With completes with the candidates that begin as the user has begun.
func With(candidates Candidates) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), limit)
		defer cancel()
		all, err := candidates(ctx, args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var fitting []string
		for _, c := range all {
			if strings.HasPrefix(c, prefix) {
				fitting = append(fitting, c)
			}
		}
		return fitting, cobra.ShellCompDirectiveNoFileComp
	}
}

// Names completes every argument with names of the kinds that are not there yet, of namespaced kinds with those in the
// namespace of the command line.
func Names(f *cli.Factory, kinds ...Kind) cobra.CompletionFunc {
	return With(func(ctx context.Context, args []string) ([]string, error) {
		names, err := list(ctx, f, kinds)
		slices.Sort(names)
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), err
	})
}

// First completes the first argument only.
func First(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, prefix)
	}
}

// Flag completes the value of a flag, whatever arguments there are.
func Flag(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	// It fails only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return complete(cmd, nil, prefix)
	})
}

// Values completes with fixed values.
func Values(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// Namespaces completes with the names of namespaces.
func Namespaces(f *cli.Factory) cobra.CompletionFunc { return Names(f, namespaces) }

func list(ctx context.Context, f *cli.Factory, kinds []Kind) ([]string, error) {
	config, err := f.RESTConfig()
	if err != nil {
		return nil, err
	}
	namespace, err := f.Namespace()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, kind := range kinds {
		resource := metadata.ResourceInterface(client.Resource(kind.resource))
		if kind.namespaced {
			resource = client.Resource(kind.resource).Namespace(namespace)
		}
		more, err := listOne(ctx, resource)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	return names, nil
}

func listOne(ctx context.Context, resource metadata.ResourceInterface) ([]string, error) {
	var names []string
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := resource.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			names = append(names, page.Items[i].Name)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return names, nil
		}
	}
}

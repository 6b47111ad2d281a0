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

package get

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/complete"
	"github.com/evenkeel-io/evenkeel/internal/cli/guarded"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
)

// trafficMaps lists TrafficMaps. Unlike the columns of the CustomResourceDefinition it shows
// a condition only for the generation that it was made for: until the publisher has written
// the newest weights, PUBLISHED is Unknown.
type trafficMaps struct {
	*cli.Factory
	allNamespaces bool
	selector      string
	output        string
	now           func() time.Time
}

func newTrafficMaps(f *cli.Factory) *cobra.Command {
	o := &trafficMaps{Factory: f, now: time.Now}
	cmd := &cobra.Command{
		Use:     "trafficmaps [NAME]",
		Aliases: []string{"trafficmap", "tm", "tmap"},
		Short:   "Show who gets the traffic, and whether the gateway has been told",
		Long: `trafficmaps lists TrafficMaps. A condition that was made for an older generation of a map is shown as Unknown:
PUBLISHED is True only once the publisher has written the newest weights, which is what to wait for before maintenance.`,
		Example: fmt.Sprintf("  %s get trafficmap chat -n prod", f.Program),
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },

		ValidArgsFunction: complete.First(complete.Names(f, complete.TrafficMaps)),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "list those of all namespaces")
	flags.StringVarP(&o.selector, "selector", "l", "", "list those whose labels match")
	flags.StringVarP(&o.output, "output", "o", cli.FormatTable, "table, wide, json or yaml")
	complete.Flag(cmd, "output", complete.Values(cli.Formats()...))
	return cmd
}

var resource = v1beta1.GroupVersion.WithResource("trafficmaps")

func (o *trafficMaps) run(ctx context.Context, args []string) error {
	if !cli.KnownFormat(o.output) {
		return fmt.Errorf("unsupported output format %q (supported: %s)", o.output, cli.FormatNames())
	}
	if len(args) > 0 && (o.allNamespaces || o.selector != "") {
		return fmt.Errorf("a name goes with neither --all-namespaces nor --selector")
	}
	namespace, err := o.Namespace()
	if err != nil {
		return err
	}
	if o.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	client, err := o.Client()
	if err != nil {
		return err
	}
	if len(args) > 0 {
		return o.one(ctx, client, namespace, args[0])
	}
	return o.list(ctx, client, namespace)
}

func (o *trafficMaps) one(ctx context.Context, client *cli.Client, namespace, name string) error {
	tm, err := cli.Get[v1beta1.TrafficMap](ctx, client, resource, namespace, name)
	if err != nil {
		return getError(namespace+"/"+name, err)
	}
	if o.output == cli.FormatJSON || o.output == cli.FormatYAML {
		tm.ManagedFields = nil
		return cli.WriteObject(o.Out, o.output, tm)
	}
	return o.print([]v1beta1.TrafficMap{*tm})
}

func (o *trafficMaps) list(ctx context.Context, client *cli.Client, namespace string) error {
	list, err := cli.List[v1beta1.TrafficMap](ctx, client, resource, namespace, metav1.ListOptions{LabelSelector: o.selector})
	if err != nil {
		return getError(namespace, err)
	}
	if o.output == cli.FormatJSON || o.output == cli.FormatYAML {
		for i := range list {
			list[i].ManagedFields = nil
		}
		if list == nil {
			list = []v1beta1.TrafficMap{}
		}
		return cli.WriteObject(o.Out, o.output, map[string]any{"apiVersion": "v1", "kind": "List", "items": list})
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(o.ErrOut, "No trafficmaps found.")
		return err
	}
	return o.print(list)
}

// getError has OME's words for what a read may end in.
func getError(of string, err error) error {
	code := "Unavailable"
	switch {
	case cli.NotServed(err):
		code = "OMEAPIMissing (install OME first)"
	case apierrors.IsNotFound(err):
		code = "NotFound"
	case apierrors.IsForbidden(err):
		code = "Forbidden"
	case apierrors.IsUnauthorized(err):
		code = "Unauthorized"
	}
	if of != "" {
		of = " " + of
	}
	return &cli.Error{Message: fmt.Sprintf("get trafficmaps%s: %s", of, code), Cause: guarded.OneLine(cli.Describe(err))}
}

func (o *trafficMaps) print(list []v1beta1.TrafficMap) error {
	header := []string{"NAME", "MODE", "TARGETS", "ROUTABLE", "PUBLISHED", "AGE"}
	if o.output == cli.FormatWide {
		header = append(header, "SERVICE", "ACTIVE", "HEALTHY", "OVERRIDE", "OVERRIDE-REASON", "REASON", "GATEWAY", "PUBLISHER-FRESHNESS")
	}
	if o.allNamespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	rows := [][]string{header}
	for i := range list {
		rows = append(rows, o.row(&list[i]))
	}
	return table.Write(o.Out, rows)
}

func (o *trafficMaps) row(tm *v1beta1.TrafficMap) []string {
	routable, override := conditionOf(tm, v1beta1.TrafficMapRoutable), conditionOf(tm, v1beta1.TrafficMapOverrideActive)
	row := []string{
		tm.Name, orDash(string(tm.Spec.Mode)), strconv.Itoa(len(tm.Spec.Entries)),
		string(routable.Status), string(conditionOf(tm, v1beta1.TrafficMapPublished).Status),
		duration.HumanDuration(o.now().Sub(tm.CreationTimestamp.Time)),
	}
	if o.output == cli.FormatWide {
		active, healthy := 0, 0
		for _, e := range tm.Spec.Entries {
			if e.Weight > 0 {
				active++
			}
			if e.Healthy {
				healthy++
			}
		}
		row = append(row, tm.Spec.Service, strconv.Itoa(active), strconv.Itoa(healthy),
			string(override.Status), override.Reason, routable.Reason, gateway(tm), freshness(tm))
	}
	if o.allNamespaces {
		row = append([]string{tm.Namespace}, row...)
	}
	return row
}

// conditionOf is a condition as far as it speaks of the map as it is now.
func conditionOf(tm *v1beta1.TrafficMap, kind string) metav1.Condition {
	c := meta.FindStatusCondition(tm.Status.Conditions, kind)
	if c == nil || c.ObservedGeneration != tm.Generation {
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: "-"}
	}
	return *c
}

func gateway(tm *v1beta1.TrafficMap) string {
	ref := tm.Status.GatewayRef
	if ref == nil {
		return "-"
	}
	namespace := ref.Namespace
	if namespace == "" {
		namespace = tm.Namespace
	}
	return fmt.Sprintf("%s/%s:%s/%s", ref.Group, ref.Kind, namespace, ref.Name)
}

// freshness tells whether the publisher has written the map as it is now.
func freshness(tm *v1beta1.TrafficMap) string {
	switch tm.Status.ObservedTrafficMapGeneration {
	case 0:
		return "Unobserved"
	case tm.Generation:
		return "Current"
	default:
		return "Stale"
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

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
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
	"github.com/evenkeel-io/evenkeel/internal/cli/guarded"
	"github.com/evenkeel-io/evenkeel/internal/cli/table"
	"github.com/evenkeel-io/evenkeel/internal/cli/traffic/report"
)

var (
	inferenceServices = v1beta1.GroupVersion.WithResource("inferenceservices")
	trafficMaps       = v1beta1.GroupVersion.WithResource("trafficmaps")
)

// show is a command that reads one service and its map and reports on them.
type show struct {
	*cli.Factory
	output string
	kind   string
	header []string
	// build makes the report: its content for JSON, its warnings and its rows.
	build func(service *unstructured.Unstructured, tm *v1beta1.TrafficMap, wide bool) (content any, warnings []string, rows []report.Row)
}

func newStatus(f *cli.Factory) *cobra.Command {
	s := &show{Factory: f, kind: "TrafficStatusReport", header: []string{"FIELD", "COMP", "VALUE", "SOURCE"}}
	s.build = func(service *unstructured.Unstructured, tm *v1beta1.TrafficMap, wide bool) (any, []string, []report.Row) {
		r := report.NewStatus(service, tm)
		return r, r.Warnings(), r.Rows(wide)
	}
	cmd := s.command("status", "Show a service's traffic: policy, drains, and who gets what share")
	cmd.Long = `status shows what the controllers report about the traffic of one service. The rows DRAIN, ENTRY and TRAFFICMAP at the
end are about its drains: each drain is Applied (the cluster is held), Waiting (the TrafficMap does not show it yet) or
Pending (the cluster has no entry, so nothing is held).`
	cmd.Example = fmt.Sprintf("  %s traffic status chat -n prod", f.Program)
	return cmd
}

func newExplain(f *cli.Factory) *cobra.Command {
	s := &show{Factory: f, kind: "TrafficExplainReport", header: []string{"LAYER", "STATE", "VALUE", "SOURCE"}}
	s.build = func(service *unstructured.Unstructured, tm *v1beta1.TrafficMap, _ bool) (any, []string, []report.Row) {
		r := report.NewExplain(service, tm)
		return r, r.Warnings(), r.Rows()
	}
	cmd := s.command("explain", "Compare declared traffic behaviour with what is reported, and say why a weight is 0")
	cmd.Example = fmt.Sprintf("  %s traffic explain chat -n prod", f.Program)
	return cmd
}

func (s *show) command(verb, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   verb + " INFERENCESERVICE",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args[0]) },

		ValidArgsFunction: completeService(s.Factory, anyService),
	}
	cmd.Flags().StringVarP(&s.output, "output", "o", cli.FormatTable, "table, wide, json or yaml")
	completeModes(cmd)
	return cmd
}

func (s *show) run(ctx context.Context, name string) error {
	if !cli.KnownFormat(s.output) {
		return fmt.Errorf("unsupported output format %q (supported: %s)", s.output, cli.FormatNames())
	}
	if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
		return fmt.Errorf("invalid InferenceService name %q: %s", name, strings.Join(faults, "; "))
	}
	namespace, err := s.Namespace()
	if err != nil {
		return err
	}
	client, err := s.Client()
	if err != nil {
		return err
	}
	service, err := client.Resource(inferenceServices).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return readError(namespace, name, err)
	}
	tm := s.mapOf(ctx, client, namespace, name)
	return s.print(service, tm)
}

// mapOf reads the service's TrafficMap. OME's command does without, so its absence is no
// error here either, only said.
func (s *show) mapOf(ctx context.Context, client *cli.Client, namespace, name string) *v1beta1.TrafficMap {
	tm, err := cli.Get[v1beta1.TrafficMap](ctx, client, trafficMaps, namespace, name)
	if err == nil {
		return tm
	}
	if !apierrors.IsNotFound(err) {
		_, _ = fmt.Fprintf(s.ErrOut, "Warning: the TrafficMap %s/%s cannot be read, so its rows are left out: %s\n", namespace, name, guarded.OneLine(err.Error()))
	}
	return nil
}

func readError(namespace, name string, err error) error {
	said := guarded.OneLine(cli.Describe(err))
	if cli.NotServed(err) {
		said = "OME does not appear to be installed on this cluster"
	}
	return fmt.Errorf("get InferenceService \"%s/%s\": %s", namespace, name, said)
}

func (s *show) print(service *unstructured.Unstructured, tm *v1beta1.TrafficMap) error {
	content, warnings, rows := s.build(service, tm, s.output == cli.FormatWide)
	if s.output == cli.FormatJSON || s.output == cli.FormatYAML {
		return cli.WriteObject(s.Out, s.output, map[string]any{
			"apiVersion":  reportVersion,
			"kind":        s.kind,
			"collectedAt": time.Now().UTC().Format(time.RFC3339Nano),
			"sources": []any{map[string]any{
				"kind": "InferenceService", "namespace": service.GetNamespace(), "name": service.GetName(),
				"uid": service.GetUID(), "generation": service.GetGeneration(),
			}},
			"content":  content,
			"warnings": warnings,
		})
	}
	cells := [][]string{s.header}
	for _, r := range rows {
		cells = append(cells, r.Cells())
	}
	return table.Write(s.Out, cells)
}

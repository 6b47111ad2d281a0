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
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	"github.com/evenkeel-io/evenkeel/internal/drain"
	"github.com/evenkeel-io/evenkeel/internal/placement"
)

// clusterSummary is a cluster with what is on it.
type clusterSummary struct {
	Name string `json:"name"`
	// Status is the readiness and what the taints make of it, such as [Ready SchedulingDisabled].
	Status []string `json:"status"`
	// Drained is the message of the condition, where the cluster is being drained.
	Drained string `json:"drained,omitempty"`
	// Reason is a person's, for the cordon or the drain.
	Reason string        `json:"reason,omitempty"`
	Pools  []poolSummary `json:"pools"`
	// Replicas on the cluster; Ready and Terminating ones are among them.
	Replicas    int         `json:"replicas"`
	Ready       int         `json:"ready"`
	Terminating int         `json:"terminating"`
	Taints      []string    `json:"taints"`
	Created     metav1.Time `json:"created"`
}

// poolSummary is a node pool: Free is never below zero, also where more nodes are in use than there are.
type poolSummary struct {
	Name    string   `json:"name"`
	Nodes   int64    `json:"nodes"`
	Used    int64    `json:"used"`
	Free    int64    `json:"free"`
	Devices []string `json:"devices"`
}

// summarise puts clusters and replicas together, by cluster name.
func summarise(clusters []modelplane.InferenceCluster, replicas []modelplane.ModelReplica) []clusterSummary {
	on := map[string][]*modelplane.ModelReplica{}
	for i := range replicas {
		on[replicas[i].Spec.ClusterName] = append(on[replicas[i].Spec.ClusterName], &replicas[i])
	}
	list := make([]clusterSummary, 0, len(clusters))
	for i := range clusters {
		list = append(list, summaryOf(&clusters[i], on[clusters[i].Name]))
	}
	slices.SortFunc(list, func(a, b clusterSummary) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func summaryOf(c *modelplane.InferenceCluster, replicas []*modelplane.ModelReplica) clusterSummary {
	s := clusterSummary{
		Name: c.Name, Status: statusOf(c), Reason: c.Annotations[evenkeel.AnnotationDrainReason],
		Replicas: len(replicas), Pools: []poolSummary{}, Taints: []string{}, Created: c.CreationTimestamp,
	}
	if drained := meta.FindStatusCondition(c.Status.Conditions, evenkeel.ConditionDrained); drained != nil {
		s.Drained = drained.Message
	}
	used := map[string]int64{}
	for _, r := range replicas {
		for pool, nodes := range placement.ReplicaCost(&r.Spec) {
			used[pool] += nodes
		}
		switch {
		case r.DeletionTimestamp != nil:
			s.Terminating++
		case meta.IsStatusConditionTrue(r.Status.Conditions, modelplane.ConditionReady):
			s.Ready++
		}
	}
	for i := range c.Status.GPUPools {
		p := &c.Status.GPUPools[i]
		nodes := max(p.Nodes, 0)
		s.Pools = append(s.Pools, poolSummary{
			Name: p.Name, Nodes: nodes, Used: used[p.Name], Free: max(nodes-used[p.Name], 0), Devices: devicesOf(p.Devices),
		})
	}
	for _, t := range c.Spec.Taints {
		s.Taints = append(s.Taints, placement.TaintString(t))
	}
	return s
}

// statusOf says what a Node's STATUS would, and how a drain stands.
func statusOf(c *modelplane.InferenceCluster) []string {
	status := []string{"NotReady"}
	if placement.Ready(c) {
		status[0] = "Ready"
	}
	cordoned := slices.ContainsFunc(c.Spec.Taints, func(t modelplane.Taint) bool { return t.Effect == modelplane.TaintEffectNoSchedule })
	drained := meta.FindStatusCondition(c.Status.Conditions, evenkeel.ConditionDrained)
	switch {
	case drain.Draining(c) && drained != nil && drained.Status == metav1.ConditionTrue && drained.ObservedGeneration == c.Generation:
		status = append(status, "Drained")
	case drain.Draining(c):
		status = append(status, "Draining")
	case cordoned:
		status = append(status, "SchedulingDisabled")
	}
	if c.DeletionTimestamp != nil {
		status = append(status, "Terminating")
	}
	return status
}

// devicesOf names the devices of a pool's nodes: 8x NVIDIA H200 141Gi. Those that only describe the node are left out.
func devicesOf(devices []modelplane.Device) []string {
	named := []string{}
	for i := range devices {
		d := &devices[i]
		if d.Claim == modelplane.DeviceClaimSynthetic {
			continue
		}
		words := []string{fmt.Sprintf("%dx", max(ptr.Deref(d.Count, 0), 0)), d.Name}
		if product, ok := d.Attributes["productName"]; ok && product.String != nil {
			words[1] = *product.String
		}
		if memory, ok := d.Capacity["memory"]; ok {
			words = append(words, memory.Value)
		}
		named = append(named, strings.Join(words, " "))
	}
	return named
}

// clusterRows are the lines of the table.
func clusterRows(list []clusterSummary, wide bool, now time.Time) [][]string {
	header := []string{"NAME", "STATUS", "POOLS", "FREE", "REPLICAS", "TAINTS", "AGE"}
	if wide {
		header = append(header, "DEVICES", "REASON", "DRAINED")
	}
	rows := [][]string{header}
	for i := range list {
		rows = append(rows, clusterRow(&list[i], wide, now))
	}
	return rows
}

func clusterRow(s *clusterSummary, wide bool, now time.Time) []string {
	var pools, devices []string
	var free int64
	for _, p := range s.Pools {
		pools = append(pools, fmt.Sprintf("%s %d/%d", p.Name, p.Used, p.Nodes))
		devices = append(devices, fmt.Sprintf("%s: %s", p.Name, orDash(strings.Join(p.Devices, " + "))))
		free += p.Free
	}
	replicas := strconv.Itoa(s.Replicas)
	if s.Ready != s.Replicas {
		replicas = fmt.Sprintf("%d (%d ready)", s.Replicas, s.Ready)
	}
	row := []string{
		s.Name, strings.Join(s.Status, ","), orNone(strings.Join(pools, ", ")), strconv.FormatInt(free, 10), replicas,
		orNone(strings.Join(s.Taints, ",")), duration.HumanDuration(now.Sub(s.Created.Time)),
	}
	if wide {
		row = append(row, orNone(strings.Join(devices, "; ")), orNone(s.Reason), orNone(s.Drained))
	}
	return row
}

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}

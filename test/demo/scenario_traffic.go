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

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// The objects in manifests/examples-ome.
const (
	trafficExamples  = "manifests/examples-ome"
	trafficNamespace = "prod"
	rerank           = "rerank"

	workerA = "worker-a"
	workerB = "worker-b"
)

// entriesOutput lists who gets what share of a service's traffic, and which drains hold whom.
const entriesOutput = `jsonpath={range .spec.entries[*]}{.cluster}{" weight="}{.weight}{" drainRefs="}{.drainRefs}{"\n"}{end}`

// trafficMapSettings switch on what OME does on a hub that has it.
func trafficMapSettings() map[string]any {
	return map[string]any{
		"enabled": true,
		"gateway": map[string]any{
			"namespace": "gateways", "name": "global", "backendPort": 443, "hostTemplate": "{{.Name}}.{{.Namespace}}.example.com",
		},
	}
}

func trafficScenario() scenario {
	return scenario{
		name:    "traffic",
		summary: "a service's traffic leaves a cluster, and mistakes are refused",
		run: func(ctx context.Context, s *stage) error {
			for _, step := range []func(context.Context, *stage) error{
				serveFromTwo, drainWorkerA, makeMistakes, undrainWorkerA, drainTheFleet, endTraffic,
			} {
				if err := step(ctx, s); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// place fills in what OME's placement reports: two replicas on each of the clusters.
func (s *stage) place(ctx context.Context, service string, clusters ...string) error {
	var candidates []string
	for _, c := range clusters {
		candidates = append(candidates, fmt.Sprintf(
			`{"cluster":%q,"phase":"Admitted","endpoint":"https://%s.example.com","admittedReplicas":2,"readyReplicas":2}`, c, c))
	}
	output, err := s.kubectlQuietly(ctx, nil, "patch", "inferenceservice", service, "-n", trafficNamespace, "--subresource=status", "--type=merge",
		fmt.Sprintf(`--patch={"status":{"placement":{"phase":"Placed","candidates":[%s]}}}`, strings.Join(candidates, ",")))
	if err != nil {
		return fmt.Errorf("place %s: %w: %s", service, err, output)
	}
	return nil
}

// shares is a map in short: "worker-a=0 worker-b=1".
func shares(tm *ome.TrafficMap) string {
	var said []string
	for _, e := range tm.Spec.Entries {
		said = append(said, fmt.Sprintf("%s=%d", e.Cluster, e.Weight))
	}
	return strings.Join(said, " ")
}

// awaitShares waits until a service's map has these weights and the gateway's route has them.
func (s *stage) awaitShares(ctx context.Context, service, want string) error {
	started := time.Now()
	tm := &ome.TrafficMap{}
	err := wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		if err := s.client.Get(ctx, types.NamespacedName{Namespace: trafficNamespace, Name: service}, tm); err != nil {
			return false, nil // it is not there yet
		}
		published := meta.FindStatusCondition(tm.Status.Conditions, ome.TrafficMapPublished)
		return shares(tm) == want && published != nil && published.Status == metav1.ConditionTrue && published.ObservedGeneration == tm.Generation, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to be shared as %q: it is %q: %w", service, want, shares(tm), err)
	}
	s.out.printf("   .. %4.1fs  %s: %s\n", time.Since(started).Seconds(), service, want)
	return nil
}

// showShares lists a map's entries and records whether they are as expected.
func (s *stage) showShares(ctx context.Context, name, want string) error {
	output, err := s.kubectl(ctx, "get", "trafficmap", chat, "-n", trafficNamespace, "-o", entriesOutput)
	if err != nil {
		return err
	}
	s.check(name, strings.TrimSpace(output) == want, "it is %q", output)
	return nil
}

// awaitGuard waits until the API server asks hub-manager about drains.
func (s *stage) awaitGuard(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		output, err := s.kubectlQuietly(ctx, nil, "annotate", "inferenceservice", chat, "-n", trafficNamespace, "--dry-run=server", "ome.io/traffic-drain=null")
		return err != nil && strings.Contains(output, "top-level value"), nil
	})
}

func serveFromTwo(ctx context.Context, s *stage) error {
	s.out.step("Two workload clusters serve chat")
	if _, err := s.kubectl(ctx, "apply", "-k", trafficExamples); err != nil {
		return err
	}
	if err := s.place(ctx, chat, workerA, workerB); err != nil {
		return err
	}
	if err := s.awaitShares(ctx, chat, "worker-a=1 worker-b=1"); err != nil {
		return err
	}
	if err := s.awaitGuard(ctx); err != nil {
		return fmt.Errorf("waiting for the guard of drains: %w", err)
	}
	return s.showShares(ctx, "both have the same share", "worker-a weight=1 drainRefs=\nworker-b weight=1 drainRefs=")
}

// drainArgs are those of a drain of a service by a person who has seen the preview.
func drainArgs(service, cluster, id string) []string {
	return []string{"ome", "traffic", "drain", service, "-n", trafficNamespace, "--workload-cluster", cluster, "--id", id, "--reason", "planned maintenance", "--yes"}
}

func drainWorkerA(ctx context.Context, s *stage) error {
	s.out.step("Drain %s", workerA)
	output, err := s.kubectl(ctx, append(drainArgs(chat, workerA, "maintenance-a"), "--dry-run=server")...)
	if err != nil {
		return err
	}
	s.check("a dry run is checked by the API server and changes nothing", strings.Contains(output, "API dry-run accepted"), "it says %s", output)
	if output, err = s.kubectl(ctx, drainArgs(chat, workerA, "maintenance-a")...); err != nil {
		return err
	}
	s.check("the drain is stored", strings.Contains(output, "applied       Yes"), "it says %s", output)
	if err := s.awaitShares(ctx, chat, "worker-a=0 worker-b=1"); err != nil {
		return err
	}
	if err := s.showShares(ctx, "worker-a is held at 0 and worker-b gets all", "worker-a weight=0 drainRefs=[\"maintenance-a\"]\nworker-b weight=1 drainRefs="); err != nil {
		return err
	}
	if output, err = s.kubectl(ctx, "ome", "get", "trafficmap", chat, "-n", trafficNamespace); err != nil {
		return err
	}
	s.check("the gateway has been told", strings.Count(output, "True") == 2, "it says %s", output)
	if _, err := s.kubectl(ctx, "get", "httproute", chat+"-global", "-n", trafficNamespace, "-o",
		`jsonpath={range .spec.rules[*].backendRefs[*]}{.name}{" weight="}{.weight}{"\n"}{end}`); err != nil {
		return err
	}
	_, err = s.kubectl(ctx, "ome", "traffic", "status", chat, "-n", trafficNamespace)
	return err
}

// mistake is an edit that the guard refuses.
type mistake struct {
	name string
	args []string
	says string
}

func annotateArgs(value string) []string {
	return []string{"annotate", "inferenceservice", chat, "-n", trafficNamespace, "--overwrite", value}
}

func makeMistakes(ctx context.Context, s *stage) error {
	s.out.step("Mistakes are refused, with what to do instead")
	for _, m := range []mistake{
		{"a value that nobody can read", annotateArgs(`ome.io/traffic-drain={"maintenance-a":{"cluster":"worker-a"}}`), "reason must be non-empty"},
		{"a drain that moves to another cluster", annotateArgs(`ome.io/traffic-drain={"maintenance-a":{"cluster":"worker-b","reason":"planned maintenance"}}`), "cannot move to another cluster"},
		{"a key that drains nothing", annotateArgs(`ome.io/traffic-drains={}`), "Did you mean"},
		{"a cluster that does not exist", drainArgs(chat, "worker-bb", "typo"), "worker-b"},
		{"the last cluster that serves", drainArgs(chat, workerB, "too-much"), "without traffic"},
	} {
		output, err := s.refused(ctx, m.args...)
		if err != nil {
			return err
		}
		s.check("refused: "+m.name, strings.Contains(output, m.says), "it says %s", output)
	}
	return s.showShares(ctx, "nothing has changed", "worker-a weight=0 drainRefs=[\"maintenance-a\"]\nworker-b weight=1 drainRefs=")
}

func undrainWorkerA(ctx context.Context, s *stage) error {
	s.out.step("Undrain %s", workerA)
	output, err := s.kubectl(ctx, "ome", "traffic", "undrain", chat, "-n", trafficNamespace, "--id", "maintenance-a", "--yes")
	if err != nil {
		return err
	}
	s.check("no drain is left", strings.Contains(output, "overrides     1 -> 0"), "it says %s", output)
	if err := s.awaitShares(ctx, chat, "worker-a=1 worker-b=1"); err != nil {
		return err
	}
	return s.showShares(ctx, "worker-a has its share again", "worker-a weight=1 drainRefs=\nworker-b weight=1 drainRefs=")
}

func drainTheFleet(ctx context.Context, s *stage) error {
	s.out.step("Drain %s for every service: one that only it serves is left out, and said", workerA)
	if err := s.place(ctx, rerank, workerA); err != nil {
		return err
	}
	if err := s.awaitShares(ctx, rerank, "worker-a=1"); err != nil {
		return err
	}
	output, err := s.refused(ctx, "evenkeel", "traffic", "drain", "--all-services", "-A", "--workload-cluster", workerA,
		"--id", "rack-2", "--reason", "rack 2 moves", "--yes")
	if err != nil {
		return err
	}
	s.check("it does not pretend to be done", strings.Contains(output, "1 of 2 services still send traffic to worker-a"), "it says %s", output)
	if err := s.awaitShares(ctx, chat, "worker-a=0 worker-b=1"); err != nil {
		return err
	}
	if output, err = s.kubectl(ctx, "evenkeel", "traffic", "drains", "-A"); err != nil {
		return err
	}
	s.check("chat's drain holds", strings.Contains(output, "Applied"), "it says %s", output)
	if _, err = s.kubectl(ctx, "evenkeel", "traffic", "undrain", "--all-services", "-A", "--id", "rack-2", "--yes"); err != nil {
		return err
	}
	return s.awaitShares(ctx, chat, "worker-a=1 worker-b=1")
}

// endTraffic leaves the hub as it was.
func endTraffic(ctx context.Context, s *stage) error {
	output, err := s.kubectlQuietly(ctx, nil, "delete", "-k", trafficExamples, "--wait=false")
	if err != nil {
		return fmt.Errorf("delete the examples: %w: %s", err, output)
	}
	return nil
}

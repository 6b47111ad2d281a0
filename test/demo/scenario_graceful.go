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
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

const (
	gracefulExamples = examples + "/drain-graceful"
	assistant        = "assistant" // a single replica that fits on every cluster
	enoughCalls      = 50
)

func gracefulScenario() scenario {
	return scenario{
		name:    "drain-graceful",
		summary: "a drain that no client notices",
		run: func(ctx context.Context, s *stage) error {
			if err := placeAssistant(ctx, s); err != nil {
				return err
			}
			if err := drainWithoutPolicy(ctx, s); err != nil {
				return err
			}
			if err := drainWithPolicy(ctx, s); err != nil {
				return err
			}
			return s.removePolicy(ctx)
		},
	}
}

func placeAssistant(ctx context.Context, s *stage) error {
	s.out.step("A deployment with a single replica, on the example's clusters, and a ModelService that leads to it")
	if _, err := s.kubectl(ctx, "apply", "-f", examples+"/namespace.yaml", "-f", examples+"/inference-classes.yaml",
		"-f", examples+"/inference-clusters.yaml", "-f", gracefulExamples+"/assistant.yaml"); err != nil {
		return err
	}
	if _, err := s.await(ctx, "the replica to serve", (*fleet).complete); err != nil {
		return err
	}
	if err := s.awaitRoute(ctx, assistant); err != nil {
		return err
	}
	if _, err := s.showReplicas(ctx); err != nil {
		return err
	}
	_, err := s.kubectl(ctx, "get", "httproute", assistant, "-n", namespace, "-o",
		`jsonpath={.spec.rules[*].matches[*].path.value} leads to {.spec.rules[*].backendRefs[*].name}{"\n"}`)
	return err
}

func drainWithoutPolicy(ctx context.Context, s *stage) error {
	s.out.step("Drain its cluster. Without a policy (Recreate) the replica goes before its replacement has loaded")
	outcome, err := s.drainUnderLoad(ctx)
	if err != nil {
		return err
	}
	s.check("clients noticed: requests failed while the replacement loaded", outcome.failed() > 0, "%s", outcome)
	return nil
}

func drainWithPolicy(ctx context.Context, s *stage) error {
	s.out.step("The same with a DisruptionPolicy: make before break")
	if _, err := s.kubectl(ctx, "apply", "-f", gracefulExamples+"/policy.yaml"); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "get", "disruptionpolicies", "-n", namespace); err != nil {
		return err
	}
	outcome, err := s.drainUnderLoad(ctx)
	if err != nil {
		return err
	}
	s.check("no client noticed: not one request failed", outcome.failed() == 0, "%s", outcome)
	_, err = s.kubectl(ctx, "get", "replicaplacements", "-n", namespace)
	return err
}

// drainUnderLoad drains the cluster that the assistant is on while clients ask it, lifts the taint again once all is
// done, and tells what became of the requests.
func (s *stage) drainUnderLoad(ctx context.Context) (calls, error) {
	before, err := readFleet(ctx, s.client)
	if err != nil {
		return nil, err
	}
	replicas := before.replicasOf(assistant)
	if len(replicas) != 1 {
		return nil, fmt.Errorf("%s has %d replicas, expected 1", assistant, len(replicas))
	}
	cluster := replicas[0].Spec.ClusterName
	caller := s.startCaller("/" + namespace + "/" + assistant + "/v1/models")
	err = s.drainAndAwait(ctx, cluster, caller)
	outcome := caller.end()
	if err != nil {
		return nil, err
	}
	s.out.printf("   %s\n", outcome)
	s.check("the clients asked throughout", outcome.total() >= enoughCalls, "%s", outcome)
	_, err = s.kubectl(ctx, "evenkeel", "undo", "drain", cluster)
	return outcome, err
}

// drainAndAwait drains a cluster and returns once the assistant serves elsewhere, clients have noticed, and the
// cluster calls itself drained.
func (s *stage) drainAndAwait(ctx context.Context, cluster string, c *caller) error {
	if err := s.awaitAnswers(ctx, c); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "evenkeel", "drain", cluster, "--yes", "--timeout="+patience.String()); err != nil {
		return err
	}
	after, err := s.await(ctx, "the drain to end", func(f *fleet) bool {
		return len(f.replicasOn(cluster)) == 0 && f.completeOne(assistant) && f.drained(cluster)
	})
	if err != nil {
		return err
	}
	if err := s.awaitRoute(ctx, assistant); err != nil {
		return err
	}
	if err := s.awaitAnswers(ctx, c); err != nil {
		return err
	}
	s.check("the replica has moved, and "+cluster+" says that it is drained",
		after.spread(assistant) != "" && !strings.Contains(after.spread(assistant), cluster), "it is on %q", after.spread(assistant))
	_, err = s.kubectl(ctx, "evenkeel", "history", cluster)
	return err
}

// showDrained shows what a cluster says of its drain.
func (s *stage) showDrained(ctx context.Context, cluster string) (string, error) {
	return s.kubectl(ctx, "get", "inferencecluster", cluster, "-o",
		`jsonpath={.status.conditions[?(@.type=="Drained")].status} {.status.conditions[?(@.type=="Drained")].message}{"\n"}`)
}

// drained tells whether a cluster calls itself drained.
func (f *fleet) drained(cluster string) bool {
	for i := range f.clusters {
		if f.clusters[i].Name == cluster {
			return meta.IsStatusConditionTrue(f.clusters[i].Status.Conditions, evenkeel.ConditionDrained)
		}
	}
	return false
}

// awaitAnswers waits until clients get good answers, a few more than they have.
func (s *stage) awaitAnswers(ctx context.Context, c *caller) error {
	wanted := c.sofar()[answeredOK] + 2*callers
	err := wait.PollUntilContextTimeout(ctx, pause, patience, true, func(context.Context) (bool, error) {
		return c.sofar()[answeredOK] >= wanted, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("waited %s for answers; so far %s", patience, c.sofar())
	}
	return err
}

func (s *stage) removePolicy(ctx context.Context) error {
	_, err := s.kubectl(ctx, "delete", "-f", gracefulExamples+"/policy.yaml")
	return err
}

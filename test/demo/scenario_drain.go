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
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

func drainScenario() scenario {
	return scenario{
		name:    "drain",
		summary: "a taint takes a cluster out of service",
		run: func(ctx context.Context, s *stage) error {
			s.out.step("The example fleet, every replica serving")
			before, err := s.placeExamples(ctx)
			if err != nil {
				return err
			}
			if _, err := s.showReplicas(ctx, "-l", modelplane.LabelCluster+"="+clusterEast); err != nil {
				return err
			}
			if err := stopScheduling(ctx, s, before); err != nil {
				return err
			}
			if err := moveAway(ctx, s); err != nil {
				return err
			}
			if err := showShortfall(ctx, s); err != nil {
				return err
			}
			return undrain(ctx, s)
		},
	}
}

// drain drains a cluster as an operator does, and has the fleet looked at meanwhile.
func (s *stage) drain(ctx context.Context, cluster string, look func(*fleet), flags ...string) error {
	watching, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		done <- wait.PollUntilContextCancel(watching, pause, true, func(ctx context.Context) (bool, error) {
			f, err := readFleet(ctx, s.client)
			if err == nil {
				look(f)
			} else if ctx.Err() == nil {
				return false, err
			}
			return false, nil
		})
	}()
	_, err := s.kubectl(ctx, append([]string{"evenkeel", "drain", cluster, "--yes", "--timeout=" + patience.String()}, flags...)...)
	stop()
	if watched := <-done; !wait.Interrupted(watched) {
		err = errors.Join(err, watched)
	}
	return err
}

func stopScheduling(ctx context.Context, s *stage, before *fleet) error {
	s.out.step("NoSchedule on %s: nothing new lands there, what runs stays", clusterEast)
	if _, err := s.kubectl(ctx, "evenkeel", "cordon", clusterEast, "--reason", "new firmware"); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "scale", "modeldeployment", chat, "-n", namespace, "--replicas=7"); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "scale", "modeldeployment", embed, "-n", namespace, "--replicas=3"); err != nil {
		return err
	}
	after, err := s.await(ctx, "the new replicas to serve", (*fleet).complete)
	if err != nil {
		return err
	}
	if _, err := s.showReplicas(ctx); err != nil {
		return err
	}
	old, now := before.identities(chat, embed, reasoner), after.identities(chat, embed, reasoner)
	stayed := 0
	for replica, uid := range old {
		if now[replica] == uid {
			stayed++
		}
	}
	s.check("every replica that ran before still runs where it was", stayed == len(old), "%d of %d", stayed, len(old))
	s.checkSpread(after, "chat's two new replicas avoid it, although it had room and would have been next", chat,
		clusterNorth+":2 "+clusterEast+":2 "+clusterWest+":3")
	s.checkSpread(after, "embed tolerates the taint, so its new replica may land there", embed, clusterEast+":2 "+clusterWest+":1")
	return nil
}

func moveAway(ctx context.Context, s *stage) error {
	s.out.step("NoExecute on %s: what does not tolerate it moves, one replica of a deployment at a time", clusterEast)
	refused, err := s.refused(ctx, "evenkeel", "drain", clusterEast, "--yes")
	if err != nil {
		return err
	}
	s.check("the plan shows that reasoner would have nowhere to go, and the drain is refused unless that is accepted",
		strings.Contains(refused, "--accept-shortfall") && strings.Contains(refused, namespace+"/"+reasoner), "%s", refused)
	const wanted = 7
	fewest := wanted
	look := func(f *fleet) { fewest = min(fewest, f.ready(chat)) }
	if err := s.drain(ctx, clusterEast, look, "--accept-shortfall"); err != nil {
		return err
	}
	after, err := s.await(ctx, "the drain to end", func(f *fleet) bool {
		look(f)
		return f.deploymentsOn(clusterEast) == embed+":2" && f.completeOne(chat) && f.moved[clusterEast] == 3
	})
	if err != nil {
		return err
	}
	history, err := s.kubectl(ctx, "evenkeel", "history", clusterEast)
	if err != nil {
		return err
	}
	s.check("the history has them, with who asked for it", strings.Count(history, "kubectl-evenkeel") == 3, "%s", history)
	if _, err := s.showReplicas(ctx, "-l", modelplane.LabelCluster+"="+clusterEast); err != nil {
		return err
	}
	s.check("only embed's replicas are left there: they tolerate the taint", after.deploymentsOn(clusterEast) == embed+":2",
		"left: %s", after.deploymentsOn(clusterEast))
	s.checkSpread(after, "chat's two replicas moved to where there is room", chat, clusterNorth+":2 "+clusterWest+":5")
	s.check("they moved one at a time: the other six always served", fewest >= wanted-1, "only %d of %d served at some time", fewest, wanted)
	return nil
}

func showShortfall(ctx context.Context, s *stage) error {
	s.out.step("The replica with nowhere to go left too, and its deployment says what is missing")
	after, err := s.await(ctx, "the shortfall to be told", func(f *fleet) bool {
		return f.condition(reasoner, modelplane.ConditionReplicasScheduled).Status == metav1.ConditionFalse &&
			len(f.replicasOf(reasoner)) == 0 && f.drained(clusterEast)
	})
	if err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "get", "modeldeployments", "-n", namespace); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "get", "modeldeployment", reasoner, "-n", namespace, "-o",
		`jsonpath={.status.conditions[?(@.type=="ReplicasScheduled")].message}{"\n"}`); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "evenkeel", "why", reasoner, "-n", namespace); err != nil {
		return err
	}
	scheduled := after.condition(reasoner, modelplane.ConditionReplicasScheduled)
	s.check("reasoner reports InsufficientCapacity", scheduled.Reason == "InsufficientCapacity", "reason %s", scheduled.Reason)
	s.check("it says how many replicas are missing, and which pool comes closest by how much",
		strings.HasPrefix(scheduled.Message, "0 of 1 replicas scheduled") && strings.Contains(scheduled.Message, clusterWest+"/h200"),
		"message %q", scheduled.Message)
	s.check("its placement waits for a home", after.pending(reasoner) == 1, "%d placements wait", after.pending(reasoner))
	drained, err := s.showDrained(ctx, clusterEast)
	s.check(clusterEast+" says that it is drained, and that embed's replicas stay",
		strings.HasPrefix(drained, "True ") && strings.Contains(drained, "2 replicas stay"), "%s", drained)
	return err
}

func undrain(ctx context.Context, s *stage) error {
	s.out.step("Undrain: nothing moves back, and the one without a home gets it")
	drained, err := readFleet(ctx, s.client)
	if err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "evenkeel", "undo", "drain", clusterEast); err != nil {
		return err
	}
	if _, err := s.kubectl(ctx, "evenkeel", "uncordon", clusterEast); err != nil {
		return err
	}
	after, err := s.await(ctx, "every replica to serve again", (*fleet).complete)
	if err != nil {
		return err
	}
	if _, err := s.showReplicas(ctx); err != nil {
		return err
	}
	was, is := drained.identities(chat, embed), after.identities(chat, embed)
	s.check("every replica that moved stays where it went", maps.Equal(was, is), "was %v, is %v", was, is)
	s.checkSpread(after, "reasoner has its two nodes again", reasoner, clusterEast+":1")
	return nil
}

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

package placement

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// fleet draws a deployment and a fleet with replicas of it, of another deployment, and of one with the same name in
// another namespace.
func (g gen) fleet() (fleet, *modelplane.ModelDeployment) {
	var f fleet
	f.hold = pick(g, "hold", false, false, false, false, true)
	names := []string{"east", "north", "south", "west"}
	for _, name := range names[:pick(g, "clusters", 4, 4, 3, 3, 2, 1, 0)] {
		c := cluster(name, tainted(g.taints()...), labelled("tier", g.text("tier", "prod", "prod", "prod", "dev")))
		c.Status.GPUPools = g.pools()
		fine := func(*modelplane.InferenceCluster) {}
		pick(g, "state", fine, fine, fine, fine, fine, fine, notReady, withoutGateway, withoutStatus)(&c)
		f.clusters = append(f.clusters, c)
	}
	d := deployment("chat", pick[int32](g, "replicas", 3, 2, 1, 4, 5, 6), g.template()...)
	d.Spec.Template.Spec.Tolerations = g.tolerations()
	if pick(g, "selects", false, false, true) {
		d = selecting(d, "tier", "prod")
	}
	elsewhere := d.DeepCopy()
	elsewhere.Namespace = "team-b"
	other := deployment("search", 1, g.template()...)
	used := map[string]bool{}
	for range pick(g, "running", 4, 3, 2, 1, 0, 5, 6) {
		of := pick(g, "of", d, d, d, d, elsewhere, other)
		r := running(of, pick(g, "on", names...), rapid.Int32Range(0, 2).Draw(g.T, "index"), g.text("on pool", "a", "a", "b", "c"))
		if pick(g, "named by hand", false, false, false, true) {
			r = named("by-hand-"+strconv.Itoa(len(used)), r)
		}
		if key := r.Namespace + "/" + r.Name; !used[key] {
			used[key] = true
			f.replicas = append(f.replicas, r)
		}
	}
	return f, d
}

// template draws engines as a ModelDeployment has them, from requirements.
func (g gen) template() []modelplane.Engine {
	var engines []modelplane.Engine
	for _, required := range g.engines() {
		e := copies(required.Copies, engineOf(required.Name))
		for _, m := range required.Members {
			member := memberOf(m.Role, m.Devices...)
			if m.Role == modelplane.MemberRoleWorker {
				member.Worker = &modelplane.WorkerGroup{Nodes: m.Nodes}
			}
			e.Members = append(e.Members, member)
		}
		engines = append(engines, e)
	}
	return engines
}

func shuffled[T any](t *rapid.T, label string, list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return rapid.Permutation(list).Draw(t, label)
}

// Placement does not depend on the order of clusters, taints, tolerations and replicas.
func TestOrderDoesNotMatter(t *testing.T) {
	m := NewMatcher()
	placed, kept := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		f, d := gen{T: t}.fleet()
		want, err := f.reconcile(m, d)
		if err != nil {
			t.Fatal(err)
		}
		mixed := fleet{hold: f.hold, clusters: shuffled(t, "clusters in order", f.clusters), replicas: shuffled(t, "replicas in order", f.replicas)}
		for i := range mixed.clusters {
			mixed.clusters[i].Spec.Taints = shuffled(t, "taints in order", mixed.clusters[i].Spec.Taints)
		}
		same := d.DeepCopy()
		same.Spec.Template.Spec.Tolerations = shuffled(t, "tolerations in order", d.Spec.Template.Spec.Tolerations)
		got, err := mixed.reconcile(m, same)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(asStrings(want), asStrings(got)); diff != "" {
			t.Fatalf("the order matters: %s", diff)
		}
		placed += len(want)
		f.hold = true
		held, _ := f.reconcile(m, d)
		kept += len(held)
	})
	t.Logf("%d replicas in all, %d of them kept", placed, kept)
	if kept == 0 || placed <= kept {
		t.Error("hardly anything is placed or kept on the fleets that were drawn")
	}
}

// A second pass over what the first one made changes nothing but what was short, which stays short.
func TestReconcileSettles(t *testing.T) {
	m := NewMatcher()
	rapid.Check(t, func(t *rapid.T) {
		f, d := gen{T: t}.fleet()
		first, err := f.reconcile(m, d)
		if err != nil {
			t.Fatal(err)
		}
		f.replicas = slices.DeleteFunc(f.replicas, func(r modelplane.ModelReplica) bool { return owns(d, &r) })
		for _, p := range first {
			f.replicas = append(f.replicas, f.stamp(m, t, d, p))
		}
		second, err := f.reconcile(m, d)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range asStrings(first) {
			if !slices.Contains(asStrings(second), p) {
				t.Fatalf("%s was placed and then moved: %v", p, asStrings(second))
			}
		}
	})
}

func (f fleet) stamp(m *Matcher, t *rapid.T, d *modelplane.ModelDeployment, p placed) modelplane.ModelReplica {
	requests, err := m.Resolve(RequirementsOf(d.Spec.Template.Spec.Engines), p.assigned, PreparePools(f.named(p.cluster).Status.GPUPools))
	if err != nil {
		t.Fatal(err)
	}
	r := running(d, p.cluster, p.index, "")
	for i := range r.Spec.Engines {
		engine := &r.Spec.Engines[i]
		to := assignmentNamed(p.assigned, engine.Name)
		for j := range engine.Members {
			engine.Members[j].NodePoolName = to.Members[j].NodePoolName
			engine.Members[j].DeviceRequests = requests[i][j]
		}
	}
	return r
}

// What a Matcher remembers does not change what it says, and what it says follows the rules as they are written down.
func checkPlace(m *Matcher, wild bool) func(*rapid.T) {
	return func(t *rapid.T) {
		g := gen{T: t, wild: wild}
		engines, published, free := g.engines(), g.pools(), g.free()
		pools := PreparePools(published)
		decision, shortage := m.Place(engines, pools, free)
		if (decision == nil) == (shortage == nil) {
			t.Fatalf("decision %v and shortage %v", decision, shortage)
		}
		fresh := NewMatcher()
		fresh.programs = m.programs // compiling is most of the time, and nothing here depends on it
		freshDecision, freshShortage := fresh.Place(engines, PreparePools(published), free)
		if diff := cmp.Diff(freshDecision, decision) + cmp.Diff(freshShortage, shortage); diff != "" {
			t.Fatalf("a Matcher that knows nothing says otherwise: %s", diff)
		}
		if diff := cmp.Diff(placeByTheBook(fresh, engines, published, free), decision); diff != "" {
			t.Fatalf("not by the book: %s", diff)
		}
		if decision == nil {
			return
		}
		for pool, nodes := range decision.Cost {
			if nodes < 1 || nodes > free(pool) {
				t.Fatalf("%d nodes of pool %s taken with %d free", nodes, pool, free(pool))
			}
		}
	}
}

func TestPlaceByTheBook(t *testing.T) {
	m := NewMatcher()
	t.Run("tame", func(t *testing.T) { rapid.Check(t, checkPlace(m, false)) })
	t.Run("wild", func(t *testing.T) { rapid.Check(t, checkPlace(m, true)) })
}

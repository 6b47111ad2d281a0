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
	"sync/atomic"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

// Decision is where the engines of one replica go on one cluster. Decisions are shared: do not change them.
type Decision struct {
	// Engines in the order of the requirements.
	Engines []evenkeel.EngineAssignment
	// Cost in nodes by pool.
	Cost map[string]int64
}

// ShortageKind is what a cluster lacks for a replica.
type ShortageKind string

// Kinds of shortage.
const (
	// NoMatchingPool means that no pool has the devices that an engine requests. More nodes would not help.
	NoMatchingPool ShortageKind = "NoMatchingPool"
	// NothingToClaim means that pools match an engine, but none of its members would claim a device. More nodes would
	// not help.
	NothingToClaim ShortageKind = "NothingToClaim"
	// InvalidSelector means that a selector does not compile. Validate says which.
	InvalidSelector ShortageKind = "InvalidSelector"
	// NotEnoughNodes means that each pool that matches an engine has too few free nodes now.
	NotEnoughNodes ShortageKind = "NotEnoughNodes"
)

// Shortage says why a replica does not fit on a cluster. Shortages are shared: do not change them.
type Shortage struct {
	Kind ShortageKind
	// Engine that does not fit.
	Engine string
	// Pool that comes closest: the one that lacks the fewest nodes or meets most requests, of equals the first published.
	// Empty where the cluster has none.
	Pool string
	// Request is the first device request that nothing in Pool meets. Set with NoMatchingPool only, and empty there if
	// Pool is left out only since a member would claim nothing in it that claims devices in another pool.
	Request string
	// Need is how many nodes of Pool the engine costs, with those that the replica's earlier engines take there. Set
	// with NotEnoughNodes only.
	Need int64
	// Free is how many nodes of Pool are free, never less than zero. Set with NotEnoughNodes only.
	Free int64
	// Nodes that Pool can have in all. Where Need is more, nothing that leaves would make enough room.
	Nodes int64
}

// Place tries one replica on one cluster. Modelplane's rule: engines in order, each whole onto the first pool in
// published order that matches every member, in which no member would claim nothing that claims devices in some pool
// of this cluster, and which has the nodes free; a pool's nodes go down by what earlier engines take. Nothing is tried
// twice, so it may reject wrongly and never takes more than is free. An engine must claim at least one device.
//
// free tells how many nodes of a pool are free now; less than zero counts as none. Exactly one result is not nil.
func (m *Matcher) Place(engines []evenkeel.EngineRequirements, pools *Pools, free func(pool string) int64) (*Decision, *Shortage) {
	return m.prepareEngines(engines).Place(pools, free)
}

// Place is Matcher.Place for prepared engines, for whoever tries them on many clusters.
func (e *Engines) Place(pools *Pools, free func(pool string) int64) (*Decision, *Shortage) {
	fit := e.fit(pools)
	if fit.never != nil {
		return nil, fit.never
	}
	// One replica has at most eight engines and a cluster at most eight pools, so that both live on the stack.
	var takenBuffer [8]int64
	taken := takenBuffer[:]
	if pools.len() > len(takenBuffer) {
		taken = make([]int64, pools.len())
	}
	var chosenBuffer [8]int
	chosen := chosenBuffer[:0]
	for i := range fit.engines {
		pick := -1
		for j, option := range fit.engines[i] {
			if addNodes(taken[option.pool], option.cost) <= free(pools.pools[option.pool].name) {
				pick = j
				break
			}
		}
		if pick < 0 {
			return nil, e.tooFewNodes(i, fit, pools, taken, free)
		}
		option := fit.engines[i][pick]
		taken[option.pool] += option.cost
		chosen = append(chosen, option.pool)
	}
	return fit.decide(e, chosen, pools), nil
}

// fit is what is known of engines on pools before free nodes are counted.
type fit struct {
	// never is why the engines cannot be placed whatever is free.
	never *Shortage
	// engines has the pools that each engine may go to, in published order.
	engines [][]option
	// decided is the latest decision. Most clusters of one kind lead to the same.
	decided atomic.Pointer[decided]
}

type option struct {
	pool int
	cost int64
}

type decided struct {
	pools    []int
	decision *Decision
}

type fitKey struct {
	engines *Engines
	pools   fingerprint
}

func (e *Engines) fit(pools *Pools) *fit {
	key := fitKey{e, pools.fingerprint()}
	if known, ok := e.matcher.fits.get(key); ok {
		return known
	}
	computed := e.computeFit(pools)
	e.matcher.fits.put(key, computed, 1+len(e.engines))
	return computed
}

func (e *Engines) computeFit(pools *Pools) *fit {
	if e.invalid != nil {
		return &fit{never: &Shortage{Kind: InvalidSelector, Engine: e.invalid.Engine}}
	}
	if len(e.engines) == 0 {
		return &fit{never: &Shortage{Kind: NothingToClaim}}
	}
	computed := &fit{engines: make([][]option, 0, len(e.engines))}
	for i := range e.engines {
		table := e.matcher.tabulate(&e.engines[i], pools)
		options := table.options()
		if len(options) == 0 {
			return &fit{never: table.shortage(pools)}
		}
		computed.engines = append(computed.engines, options)
	}
	return computed
}

// table has the match of each member of one engine in each pool.
type table struct {
	engine  *engine
	matches [][]*match // by pool and member
	// claimable tells of each member whether it claims devices in some pool, whatever is free there.
	claimable []bool
}

func (m *Matcher) tabulate(e *engine, pools *Pools) *table {
	t := &table{engine: e, claimable: make([]bool, len(e.members))}
	for p := range pools.len() {
		row := make([]*match, 0, len(e.members))
		for i := range e.members {
			found := m.match(&e.members[i], &pools.pools[p])
			t.claimable[i] = t.claimable[i] || found.claims
			row = append(row, found)
		}
		t.matches = append(t.matches, row)
	}
	return t
}

func (t *table) options() []option {
	if !slices.Contains(t.claimable, true) {
		return nil
	}
	var options []option
	for p, row := range t.matches {
		if matchesAll(row) && !t.strands(row) {
			options = append(options, option{pool: p, cost: t.engine.cost(row)})
		}
	}
	return options
}

// strands tells whether a member that claims devices in some pool would claim nothing in this one.
func (t *table) strands(row []*match) bool {
	for i, found := range row {
		if t.claimable[i] && !found.claims {
			return true
		}
	}
	return false
}

func matchesAll(row []*match) bool {
	for _, found := range row {
		if !found.ok {
			return false
		}
	}
	return true
}

func (e *engine) cost(row []*match) int64 {
	var nodes int64
	for i, found := range row {
		if found.claims {
			nodes = addNodes(nodes, e.members[i].nodes)
		}
	}
	return nodes
}

// shortage tells why no pool will do.
func (t *table) shortage(pools *Pools) *Shortage {
	short := &Shortage{Kind: NoMatchingPool, Engine: t.engine.name}
	most := -1
	for p, row := range t.matches {
		met, missing := t.met(row)
		if met <= most {
			continue
		}
		most = met
		short.Pool, short.Request = pools.pools[p].name, missing
		if matchesAll(row) && !slices.Contains(t.claimable, true) {
			short.Kind = NothingToClaim
		}
	}
	return short
}

// met counts the requests that are met in a pool and names the first that is not.
func (t *table) met(row []*match) (count int, missing string) {
	for i, found := range row {
		count += len(found.devices)
		if !found.ok && missing == "" {
			missing = t.engine.members[i].requests[len(found.devices)].name
		}
	}
	return count, missing
}

func (e *Engines) tooFewNodes(engine int, fit *fit, pools *Pools, taken []int64, free func(pool string) int64) *Shortage {
	short := &Shortage{Kind: NotEnoughNodes, Engine: e.engines[engine].name}
	for i, option := range fit.engines[engine] {
		p := &pools.pools[option.pool]
		need, has := addNodes(taken[option.pool], option.cost), max(free(p.name), 0)
		if i == 0 || need-has < short.Need-short.Free {
			short.Pool, short.Need, short.Free, short.Nodes = p.name, need, has, p.nodes
		}
	}
	return short
}

func (f *fit) decide(e *Engines, chosen []int, pools *Pools) *Decision {
	if latest := f.decided.Load(); latest != nil && slices.Equal(latest.pools, chosen) {
		return latest.decision
	}
	decision := &Decision{Cost: map[string]int64{}, Engines: make([]evenkeel.EngineAssignment, 0, len(chosen))}
	for i, p := range chosen {
		name := pools.pools[p].name
		members := make([]evenkeel.MemberAssignment, len(e.engines[i].members))
		for j := range members {
			members[j].NodePoolName = name
		}
		decision.Engines = append(decision.Engines, evenkeel.EngineAssignment{Name: e.engines[i].name, Members: members})
		for _, option := range f.engines[i] {
			if option.pool == p {
				decision.Cost[name] = addNodes(decision.Cost[name], option.cost)
			}
		}
	}
	f.decided.Store(&decided{pools: slices.Clone(chosen), decision: decision})
	return decision
}

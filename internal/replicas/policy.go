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

package replicas

import (
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Policy is what the moves of one deployment keep to.
type Policy struct {
	// MaxUnavailable is how many replicas may at most be without service because of moves.
	MaxUnavailable int
	// Strategy of moves.
	Strategy evenkeel.DisruptionStrategy
	// WhenUnplaceable says what becomes of a replica that has nowhere to go.
	WhenUnplaceable evenkeel.UnplaceablePolicy
	// ReadyTimeout is how long a replica that does not serve counts as unavailable.
	ReadyTimeout time.Duration
	// TrafficGracePeriod is how long to wait at most for the routes to a replica to go.
	TrafficGracePeriod time.Duration
	// RequestGracePeriod is how long a replica runs on when its routes are gone.
	RequestGracePeriod time.Duration
	// Paused holds back every move that has not begun to take traffic away.
	Paused bool
	// Names of the DisruptionPolicies that it was made from, sorted.
	Names []string
}

// DefaultPolicy applies where nobody asked for another: one replica at a time, deleted before it is recreated, and
// deleted also where it has nowhere to go.
func DefaultPolicy() Policy {
	return Policy{
		MaxUnavailable:     1,
		Strategy:           evenkeel.StrategyRecreate,
		WhenUnplaceable:    evenkeel.WhenUnplaceableEvict,
		ReadyTimeout:       10 * time.Minute,
		TrafficGracePeriod: 90 * time.Second,
		RequestGracePeriod: 10 * time.Second,
	}
}

// AtOnce is how many replicas of a deployment may be on the move at a time. Under MakeBeforeBreak none is out of
// service meanwhile, so that a budget of 0 lets one move.
func (p Policy) AtOnce() int {
	if p.Strategy == evenkeel.StrategyMakeBeforeBreak {
		return max(p.MaxUnavailable, 1)
	}
	return p.MaxUnavailable
}

// holds tells whether a replica that serves, or may serve again, is never deleted for want of a destination. What is made
// before it breaks never is.
func (p Policy) holds() bool {
	return p.WhenUnplaceable == evenkeel.WhenUnplaceableHold || p.Strategy == evenkeel.StrategyMakeBeforeBreak
}

// NeverMoves tells whether a replica that serves can never be moved under this policy.
func (p Policy) NeverMoves() bool { return p.Paused || p.AtOnce() <= 0 }

// PolicyFor gives what the moves of a deployment keep to: of the policies of its namespace that select it, the most
// careful value of each field, whatever their order; where none has the field, that of the defaults; where these have
// none either, that of DefaultPolicy. A percentage is one of the replicas that the deployment wants.
//
// The error names policies that cannot be read, which the API server should have refused. The result holds without them.
func PolicyFor(d *modelplane.ModelDeployment, policies []*evenkeel.DisruptionPolicy, defaults *evenkeel.DisruptionSettings) (Policy, error) {
	merged := evenkeel.DisruptionSettings{}
	var names []string
	var errs []error
	for _, p := range policies {
		selects, err := Selects(p, d)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !selects {
			continue
		}
		settings := p.Spec.DisruptionSettings
		if settings.MaxUnavailable, err = resolve(settings.MaxUnavailable, d.Spec.Replicas); err != nil {
			errs = append(errs, fmt.Errorf("DisruptionPolicy %s: %w", p.Name, err))
		}
		merged = moreCareful(merged, settings)
		names = append(names, p.Name)
	}
	policy := DefaultPolicy()
	if defaults != nil {
		settings := *defaults
		var err error
		if settings.MaxUnavailable, err = resolve(settings.MaxUnavailable, d.Spec.Replicas); err != nil {
			errs = append(errs, fmt.Errorf("the manager's default: %w", err))
		}
		policy.set(settings)
	}
	policy.set(merged)
	slices.Sort(names)
	policy.Names = names
	return policy, errors.Join(errs...)
}

// Selects tells whether a policy is about a deployment.
func Selects(p *evenkeel.DisruptionPolicy, d *modelplane.ModelDeployment) (bool, error) {
	if p.Namespace != d.Namespace {
		return false, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(p.Spec.Selector)
	if err != nil {
		return false, fmt.Errorf("DisruptionPolicy %s: its selector cannot be read: %w", p.Name, err)
	}
	return selector.Matches(labels.Set(d.Labels)), nil
}

// resolve makes a number of a percentage, rounded up as a PodDisruptionBudget's.
func resolve(n *intstr.IntOrString, replicas int32) (*intstr.IntOrString, error) {
	if n == nil {
		return nil, nil
	}
	resolved, err := intstr.GetScaledValueFromIntOrPercent(n, int(replicas), true)
	if err != nil {
		return nil, fmt.Errorf("maxUnavailable %q is neither a number nor a percentage: %w", n.String(), err)
	}
	number := intstr.FromInt32(int32(max(resolved, 0)))
	return &number, nil
}

// moreCareful takes of each field the more careful value. Budgets are numbers here.
func moreCareful(a, b evenkeel.DisruptionSettings) evenkeel.DisruptionSettings {
	if a.MaxUnavailable == nil || b.MaxUnavailable != nil && b.MaxUnavailable.IntVal < a.MaxUnavailable.IntVal {
		a.MaxUnavailable = b.MaxUnavailable
	}
	if a.Strategy == "" || b.Strategy == evenkeel.StrategyMakeBeforeBreak {
		a.Strategy = b.Strategy
	}
	if a.WhenUnplaceable == "" || b.WhenUnplaceable == evenkeel.WhenUnplaceableHold {
		a.WhenUnplaceable = b.WhenUnplaceable
	}
	if a.Paused == nil || b.Paused != nil && *b.Paused {
		a.Paused = b.Paused
	}
	a.ReadyTimeout = longer(a.ReadyTimeout, b.ReadyTimeout)
	a.TrafficGracePeriod = longer(a.TrafficGracePeriod, b.TrafficGracePeriod)
	a.RequestGracePeriod = longer(a.RequestGracePeriod, b.RequestGracePeriod)
	return a
}

func longer(a, b *metav1.Duration) *metav1.Duration {
	if a == nil || b != nil && b.Duration > a.Duration {
		return b
	}
	return a
}

// set takes over the fields that are there. Budgets are numbers here.
func (p *Policy) set(settings evenkeel.DisruptionSettings) {
	if settings.MaxUnavailable != nil {
		p.MaxUnavailable = settings.MaxUnavailable.IntValue()
	}
	if settings.Strategy != "" {
		p.Strategy = settings.Strategy
	}
	if settings.WhenUnplaceable != "" {
		p.WhenUnplaceable = settings.WhenUnplaceable
	}
	if settings.Paused != nil {
		p.Paused = *settings.Paused
	}
	for _, d := range []struct {
		to   *time.Duration
		from *metav1.Duration
	}{
		{&p.ReadyTimeout, settings.ReadyTimeout},
		{&p.TrafficGracePeriod, settings.TrafficGracePeriod},
		{&p.RequestGracePeriod, settings.RequestGracePeriod},
	} {
		if d.from != nil {
			*d.to = d.from.Duration
		}
	}
}

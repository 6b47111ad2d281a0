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

import "time"

// Strategy is the order of the steps of a move.
type Strategy string

// StrategyRecreate deletes a replica once its replacement has a destination, and then starts the replacement there.
const StrategyRecreate Strategy = "Recreate"

// UnplaceablePolicy is what becomes of a replica that must leave and has nowhere to go.
type UnplaceablePolicy string

// WhenUnplaceableEvict deletes it, after all that can be moved have been.
const WhenUnplaceableEvict UnplaceablePolicy = "Evict"

// Policy is what the moves of one deployment keep to.
type Policy struct {
	// MaxUnavailable is how many replicas may at most be without service because of moves.
	MaxUnavailable int
	// Strategy of moves.
	Strategy Strategy
	// WhenUnplaceable says what becomes of a replica that has nowhere to go.
	WhenUnplaceable UnplaceablePolicy
	// ReadyTimeout is how long a replica that does not serve counts as unavailable.
	ReadyTimeout time.Duration
	// Paused holds back every move that has not begun to delete.
	Paused bool
}

// DefaultPolicy applies where nobody asked for another: one replica at a time, deleted before it is recreated, and
// deleted also where it has nowhere to go.
func DefaultPolicy() Policy {
	return Policy{
		MaxUnavailable:  1,
		Strategy:        StrategyRecreate,
		WhenUnplaceable: WhenUnplaceableEvict,
		ReadyTimeout:    10 * time.Minute,
	}
}

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

package preemption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evenkeel-io/evenkeel/internal/placement"
	"github.com/evenkeel-io/evenkeel/internal/text"
)

// maxName bounds the names in an explanation, in bytes: that of a pool is as long as whoever publishes it likes.
const maxName = placement.MaxLabelValue

// explain writes one sentence about the clusters that come closest, and counts the others. The same shortages give the
// same sentence, so that a placement that keeps failing does not keep changing.
func explain(shortages map[string]*placement.Shortage, maxNamed int) string {
	if len(shortages) == 0 || maxNamed <= 0 {
		return ""
	}
	clusters := make([]string, 0, len(shortages))
	for cluster := range shortages {
		clusters = append(clusters, cluster)
	}
	slices.SortFunc(clusters, func(a, b string) int {
		return cmp.Or(compare(shortages[a], shortages[b]), cmp.Compare(a, b))
	})
	named := clusters[:min(maxNamed, len(clusters))]
	phrases := make([]string, 0, len(named)+1)
	for _, cluster := range named {
		phrases = append(phrases, phrase(cluster, shortages[cluster]))
	}
	if more := len(clusters) - len(named); more > 0 {
		phrases = append(phrases, fmt.Sprintf("%d more", more))
	}
	return "Best: " + strings.Join(phrases, "; ") + "."
}

// compare puts first where nodes must become free, then where a pool is too small, then where devices are missing; and
// the smaller lack before the greater.
func compare(a, b *placement.Shortage) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Need-a.Free, b.Need-b.Free))
}

func rank(s *placement.Shortage) int {
	switch {
	case s.Kind == placement.NotEnoughNodes && s.Need <= s.Nodes:
		return 0
	case s.Kind == placement.NotEnoughNodes:
		return 1
	default:
		return 2
	}
}

func phrase(cluster string, s *placement.Shortage) string {
	where := short(cluster)
	if s.Pool != "" {
		where += "/" + short(s.Pool)
	}
	engine := short(s.Engine)
	switch {
	case s.Kind == placement.NotEnoughNodes && s.Need <= s.Nodes:
		return fmt.Sprintf("%s needs %s, has %d free (engine %s)", where, nodes(s.Need), s.Free, engine)
	case s.Kind == placement.NotEnoughNodes:
		return fmt.Sprintf("%s needs %s, has %d in all (engine %s)", where, nodes(s.Need), s.Nodes, engine)
	case s.Kind == placement.NothingToClaim:
		return fmt.Sprintf("%s has no device to claim (engine %s)", where, engine)
	case s.Pool == "":
		return fmt.Sprintf("%s publishes no node pool", where)
	case s.Request == "":
		return fmt.Sprintf("%s matches, but nothing would be claimed there (engine %s)", where, engine)
	default:
		return fmt.Sprintf("%s has no devices for request %s (engine %s)", where, short(s.Request), engine)
	}
}

func nodes(n int64) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

// short cuts a name between characters.
func short(name string) string {
	if len(name) <= maxName {
		return name
	}
	const ellipsis = "..."
	return text.Prefix(name, maxName-len(ellipsis)) + ellipsis
}

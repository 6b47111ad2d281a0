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

package report

// Source says how a value came about, as "<evidence>/<freshness>".
type Source string

const (
	computedCurrent      Source = "Computed/Current"
	computedUnverifiable Source = "Computed/Unverifiable"
	computedUnavailable  Source = "Computed/Unavailable"
	declaredCurrent      Source = "Declared/Current"
	reportedUnverifiable Source = "Reported/Unverifiable"
	unavailable          Source = "Unavailable/Unavailable"
)

// Freshness tells whether a value belongs to the object's current generation.
type Freshness string

const (
	current      Freshness = "Current"
	stale        Freshness = "Stale"
	unverifiable Freshness = "Unverifiable"
)

func reported(f Freshness) Source { return Source("Reported/" + f) }
func computed(f Freshness) Source { return Source("Computed/" + f) }

// Value is a value and how it came about.
type Value struct {
	Value  string `json:"value"`
	Source Source `json:"source"`
}

// Row is one row of a table: of status a field with its component, of explain a layer with
// its state.
type Row struct {
	Name, Second, Value string
	Source              Source
}

// Cells are the row's columns.
func (r Row) Cells() []string {
	return []string{r.Name, dash(r.Second), dash(r.Value), string(r.Source)}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

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

package trafficdrain

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// seeds are the values of the vectors, without those that only test limits: they are so
// long that the fuzzer would spend its time on making them shorter.
func seeds() []string {
	var values []string
	for _, v := range vectors {
		if len(v.value) < 1024 {
			values = append(values, strings.ReplaceAll(v.value, "OK", okBody))
		}
	}
	return values
}

// FuzzParse: no value makes the parser panic, what it accepts is JSON and comes back from
// its own encoding unchanged, and the strict rules never accept more or something else.
func FuzzParse(f *testing.F) {
	for _, value := range seeds() {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		drains, err := Parse(value)
		strict, strictErr := ParseStrict(value)
		if err != nil {
			var refusal *Refusal
			require.True(t, errors.As(err, &refusal))
			require.NotEmpty(t, refusal.Error())
			require.NotEmpty(t, refusal.Explain())
			require.Nil(t, drains)
			require.Error(t, strictErr)
			return
		}
		require.True(t, json.Valid([]byte(value)))
		for i, d := range drains {
			require.Empty(t, textFault(d.ID)+textFault(d.Cluster)+textFault(d.Reason))
			require.True(t, i == 0 || drains[i-1].ID < d.ID)
		}

		encoded := drains.Encode()
		again, err := Parse(encoded)
		require.NoError(t, err)
		require.Equal(t, drains, again)
		require.Equal(t, encoded, again.Encode())

		if strictErr == nil {
			require.Equal(t, drains, strict)
			require.LessOrEqual(t, len(value), MaxBytes)
			require.LessOrEqual(t, len(strict), MaxDrains)
		}
	})
}

// FuzzDrain: a drain that the commands' rules accept can be written and read back, and it
// holds nothing that is invisible or looks like a secret.
func FuzzDrain(f *testing.F) {
	f.Add("maintenance-a", "worker-a", "planned maintenance")
	f.Add("a\u00a0", "worker..a", "x\xff")
	f.Add("sk-abcdefghijklmnopqrst", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.cccccccccccccccc", "<&>")
	f.Fuzz(func(t *testing.T, id, cluster, reason string) {
		drain := Drain{ID: id, Cluster: cluster, Reason: reason}
		change, err := Add(Value{}, drain)
		require.Equal(t, drain.Validate() == nil, err == nil)
		if err != nil {
			return
		}
		lenient, err := change.Value.Parse()
		require.NoError(t, err)
		strict, err := change.Value.ParseStrict()
		require.NoError(t, err)
		require.Equal(t, Drains{drain}, lenient)
		require.Equal(t, Drains{drain}, strict)
		require.True(t, SafeScalar(id) && SafeScalar(cluster))
		require.False(t, CredentialLike(reason))

		undone, err := Remove(change.Value, id)
		require.NoError(t, err)
		require.Equal(t, Value{}, undone.Value)
	})
}

// FuzzReviewEdit: no pair of values makes a review panic; removing is always accepted,
// keeping is too, and what is accepted otherwise parses.
func FuzzReviewEdit(f *testing.F) {
	values := seeds()
	for i, value := range values {
		f.Add(value, values[len(values)-1-i])
	}
	f.Fuzz(func(t *testing.T, old, new string) {
		_, err := ReviewEdit(present(old), Value{})
		require.NoError(t, err)
		_, err = ReviewEdit(present(old), present(old))
		require.NoError(t, err)

		review, err := ReviewEdit(present(old), present(new))
		if err != nil {
			require.NotEqual(t, EditNone, review.Kind)
			return
		}
		if review.Kind != EditNone {
			parsed, err := Parse(new)
			require.NoError(t, err)
			require.Equal(t, parsed, review.New)
		}
		if review.Kind == EditSubset {
			require.True(t, review.Diff.Subset())
		}
	})
}

// drainsGen draws drains that Parse can return, in order, good and odd ones mixed.
func drainsGen(t *rapid.T) Drains {
	text := rapid.OneOf(
		rapid.StringMatching(`[a-c]{1,2}`),
		rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?`),
		rapid.String().Filter(func(s string) bool { return textFault(s) == "" && strings.ToValidUTF8(s, "") == s }),
	)
	byID := rapid.MapOfN(text, rapid.Custom(func(t *rapid.T) Drain {
		return Drain{Cluster: text.Draw(t, "cluster"), Reason: text.Draw(t, "reason")}
	}), 0, 8).Draw(t, "drains")
	var ds Drains
	for id, d := range byID {
		d.ID = id
		i, _ := ds.find(id)
		ds = append(ds[:i:i], append(Drains{d}, ds[i:]...)...)
	}
	return ds
}

func TestPropertyEncodeParses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ds := drainsGen(t)
		parsed, err := Parse(ds.Encode())
		require.NoError(t, err)
		require.Equal(t, ds, parsed)
	})
}

func TestPropertyLayoutDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ds := drainsGen(t)
		shuffled := rapid.Permutation(ds).Draw(t, "shuffled")
		members := make([]string, len(shuffled))
		for i, d := range shuffled {
			encoded := Drains{d}.Encode()
			members[i] = encoded[1 : len(encoded)-1]
		}
		gap := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "gap")
		parsed, err := Parse("{" + gap + strings.Join(members, gap+","+gap) + "}" + gap)
		require.NoError(t, err)
		require.Equal(t, ds, parsed)
	})
}

func TestPropertyDiffAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := drainsGen(t), drainsGen(t)
		diff := Compare(old, new)
		same := len(new) - len(diff.Added) - len(diff.Retargeted) - len(diff.Reworded)
		require.Equal(t, len(old), same+len(diff.Removed)+len(diff.Retargeted)+len(diff.Reworded))

		back := Compare(new, old)
		require.Equal(t, diff.Added, back.Removed)
		require.Equal(t, len(diff.Retargeted), len(back.Retargeted))
		require.Equal(t, diff.Subset() && back.Subset(), assert.ObjectsAreEqual(old, new))
	})
}

// TestPropertyAnyValueCanBeRepaired takes the drains of a value away one by one, in any
// order: no step is refused, whatever the drains look like.
func TestPropertyAnyValueCanBeRepaired(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ds := drainsGen(t)
		for len(ds) > 0 {
			i := rapid.IntRange(0, len(ds)-1).Draw(t, "index")
			rest := append(append(Drains{}, ds[:i]...), ds[i+1:]...)
			review, err := ReviewEdit(present(ds.Encode()), present(rest.Encode()))
			require.NoError(t, err)
			require.Equal(t, EditSubset, review.Kind)
			require.Equal(t, []Drain{ds[i]}, review.Diff.Removed)
			ds = rest
		}
	})
}

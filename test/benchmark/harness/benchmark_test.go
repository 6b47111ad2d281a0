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

package harness

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSelect(t *testing.T) {
	all := []Benchmark{{Name: "placement"}, {Name: "drain"}}

	selected, err := Select(all, "")
	require.NoError(t, err)
	assert.Len(t, selected, 2, "an empty name selects all")

	selected, err = Select(all, "drain")
	require.NoError(t, err)
	require.Len(t, selected, 1)
	assert.Equal(t, "drain", selected[0].Name)

	_, err = Select(all, "nothing")
	assert.ErrorContains(t, err, `no benchmark is called "nothing": set BENCH to one of placement, drain`)
}

func TestMachineBusy(t *testing.T) {
	assert.False(t, Machine{Cores: 2, LoadAverage: 0.3}.Busy())
	assert.True(t, Machine{Cores: 2, LoadAverage: 0.6}.Busy())
	assert.False(t, Machine{Cores: 8, LoadAverage: 0.6}.Busy())
}

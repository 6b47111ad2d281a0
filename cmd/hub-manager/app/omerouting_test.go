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

package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOMERoutes(t *testing.T) {
	for setting, want := range map[string]bool{
		"":                                       false,
		"{}":                                     false,
		`{"routing":{"enabled":true}}`:           true,
		`{"routing":{"enabled":false}}`:          false,
		"routing:\n  enabled: true\n":            true,
		`{"endpoint":{},"routing":{"probe":{}}}`: false,
	} {
		got, err := omeRoutes(setting)
		assert.NoError(t, err)
		assert.Equal(t, want, got, setting)
	}
	_, err := omeRoutes(`{"routing":{"enabled":"often"}}`)
	assert.Error(t, err, "what cannot be read is not taken for off")
}

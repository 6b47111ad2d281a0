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

package servingpath

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// remembered is how many Deployments a catalogue remembers: as many as are likely to be looked at more than once.
const remembered = 1024

// state tells one state of an object from all others.
type state struct {
	uid             types.UID
	resourceVersion string
}

// ForStored is ForDeployment for one as the API server has stored it, and not for one on its way there. Several ask
// about the same state, and expressions are not cheap: what a state belongs to is remembered for a while.
func (c *Catalogue) ForStored(d *appsv1.Deployment) *Component {
	if d.UID == "" || d.ResourceVersion == "" {
		return c.ForDeployment(d)
	}
	key := state{d.UID, d.ResourceVersion}
	if component, known := c.stored.Get(key); known {
		return component.(*Component)
	}
	component := c.ForDeployment(d)
	c.stored.Add(key, component)
	return component
}

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

package guarded

import (
	"fmt"

	"github.com/evenkeel-io/evenkeel/internal/cli"
)

// inspectionLimits bound the rollout state that OME's commands look through. Its exact place
// in the object differs between versions, so a list is known by its name and its parent's.
var inspectionLimits = []struct {
	parent, list string
	limit        int
}{
	{"rollout", "groups", 3},
	{"canary", "steps", 20},
	{"analysis", "metrics", 10},
}

const maxRevisionWeights = 8

func (s *Service) checkInspection() error {
	if fault := inspect(s.raw); fault != "" {
		return &cli.Error{Message: messageInspection, Cause: fault}
	}
	status, _ := s.raw["status"].(map[string]any)
	components, _ := status["components"].(map[string]any)
	for name, component := range components {
		c, _ := component.(map[string]any)
		if weights, _ := c["traffic"].([]any); len(weights) > maxRevisionWeights {
			return &cli.Error{Message: messageInspection,
				Cause: OneLine(fmt.Sprintf("status.components[%s].traffic has %d entries, at most %d are allowed", name, len(weights), maxRevisionWeights))}
		}
	}
	return nil
}

func inspect(value any) string {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if fault := inspectLists(key, child); fault != "" {
				return fault
			}
			if fault := inspect(child); fault != "" {
				return fault
			}
		}
	case []any:
		for _, child := range v {
			if fault := inspect(child); fault != "" {
				return fault
			}
		}
	}
	return ""
}

func inspectLists(parent string, value any) string {
	object, _ := value.(map[string]any)
	for _, limit := range inspectionLimits {
		if parent != limit.parent {
			continue
		}
		if list, _ := object[limit.list].([]any); len(list) > limit.limit {
			return fmt.Sprintf("%s.%s has %d entries, at most %d are allowed", limit.parent, limit.list, len(list), limit.limit)
		}
	}
	return ""
}

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

package main

import (
	"fmt"
)

// checks counts what was asserted.
type checks struct {
	out    *printer
	count  int
	failed []string
}

// that records one assertion. A reader of the demo sees its name, so the name says
// what holds; detail is what was seen instead if it does not.
func (c *checks) that(name string, holds bool, detail string, args ...any) {
	c.count++
	if holds {
		c.out.passed(name)
		return
	}
	c.failed = append(c.failed, name)
	c.out.failed(name, fmt.Sprintf(detail, args...))
}

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

import "strconv"

// CountWrite counts a request to a target, and among the refused ones, by status code and target, if it was refused.
func CountWrite(all, refused map[string]int, target string, r *Request) {
	all[target]++
	if !r.Succeeded() {
		refused[strconv.Itoa(r.Code)+" "+target]++
	}
}

// Total adds up counted writes.
func Total(writes map[string]int) int {
	total := 0
	for _, n := range writes {
		total += n
	}
	return total
}

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

package virtual

import (
	"regexp"
	"strings"

	"github.com/evenkeel-io/evenkeel/internal/text"
)

// messageLimit bounds a condition's message and an event's note, in bytes: what the API server accepts for a note.
const messageLimit = 1024

// noClusters is what the scheduler's message for a hub without nodes becomes.
const noClusters = "0/0 clusters are available: the hub has no InferenceCluster."

// The scheduler's own words for what people know as clusters. Only its fixed phrases are matched: "nodes" in the text of
// our plugins means the nodes of a cluster's pool.
var (
	nodesAvailable = regexp.MustCompile(`^0/(\d+) nodes are available`)
	countedNodes   = regexp.MustCompile(`(\d+) node\(s\) `)

	phrases = strings.NewReplacer(
		"node(s) didn't match Pod's node affinity/selector", "node(s) didn't match the cluster selector or are excluded",
		"node(s) didn't match the requested node name", "node(s) didn't match the requested cluster name",
	)
)

// clusterWords rewrites a message of the scheduler for people who know clusters and placements, and bounds it.
func clusterWords(message string) string {
	if message == "no nodes available to schedule pods" {
		return noClusters
	}
	message = phrases.Replace(message)
	message = nodesAvailable.ReplaceAllString(message, "0/$1 clusters are available")
	message = countedNodes.ReplaceAllString(message, "$1 cluster(s) ")
	return bounded(message)
}

// bounded cuts a message at the limit, between characters.
func bounded(message string) string {
	if len(message) <= messageLimit {
		return message
	}
	const ellipsis = " ..."
	return text.Prefix(message, messageLimit-len(ellipsis)) + ellipsis
}

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
	"fmt"
	"strings"

	"github.com/evenkeel-io/evenkeel/internal/text"
)

// Rule names the rule that a value, a drain or an edit breaks. Its text is stable and
// fit for metrics and audit annotations.
type Rule string

const (
	// RuleMalformed: OME's controller cannot read the value and keeps its last map.
	RuleMalformed Rule = "Malformed"
	// RuleSize, RuleCount, RuleMetadata, RuleObject: more than the traffic commands
	// handle. Refusal.Bounds is true for these.
	RuleSize     Rule = "TooLarge"
	RuleCount    Rule = "TooManyDrains"
	RuleMetadata Rule = "TooMuchMetadata"
	RuleObject   Rule = "ObjectTooLarge"
	// RuleID, RuleCluster, RuleReason: a drain that the commands would not write.
	RuleID      Rule = "InvalidID"
	RuleCluster Rule = "InvalidCluster"
	RuleReason  Rule = "InvalidReason"
	// RuleIDExists, RuleIDMissing: nothing to add, nothing to remove.
	RuleIDExists  Rule = "IDExists"
	RuleIDMissing Rule = "IDMissing"
	// RuleRetargeted: an edit moves an existing ID to another cluster.
	RuleRetargeted Rule = "Retargeted"
	// RuleUnknownCluster: no cluster of that name could ever be drained.
	RuleUnknownCluster Rule = "UnknownCluster"
	// RuleNearMissKey: an annotation that looks like the drain annotation but is not.
	RuleNearMissKey Rule = "NearMissKey"
)

// Refusal says why a value, a drain or an edit is not accepted.
type Refusal struct {
	// Rule is the broken rule.
	Rule Rule
	// ID is the drain concerned, as written; empty when it is about the whole value.
	// Show it through Printable.
	ID string

	text   string
	safe   string
	detail string
	cure   string
	cause  error
}

var _ error = &Refusal{}

// Error returns the text that OME uses for this case, where it has one. A text about a
// malformed value may quote parts of it: see Safe.
func (r *Refusal) Error() string { return r.text }

// Safe returns the text of Error with credential-like parts of the value taken out and
// long ones cut.
func (r *Refusal) Safe() string { return r.safe }

// Explain returns Safe, then what is wrong in numbers and names, then what to do next.
func (r *Refusal) Explain() string {
	return r.fault() + ". " + r.cure
}

func (r *Refusal) fault() string {
	if r.detail == "" {
		return r.safe
	}
	return r.safe + ": " + r.detail
}

// Bounds tells a value or an object that is too large from one that is wrong.
func (r *Refusal) Bounds() bool {
	switch r.Rule {
	case RuleSize, RuleCount, RuleMetadata, RuleObject:
		return true
	default:
		return false
	}
}

// Unwrap returns what the refusal is based on, if anything.
func (r *Refusal) Unwrap() error { return r.cause }

// refuse builds a refusal whose text holds nothing of the value.
func refuse(rule Rule, id, text, detail, cure string) *Refusal {
	return &Refusal{Rule: rule, ID: id, text: text, safe: text, detail: detail, cure: cure}
}

const malformedCure = `Write one JSON object such as {"maintenance-a":{"cluster":"worker-a","reason":"planned maintenance"}}, ` +
	`or remove the annotation to end every drain of this service`

// malformed builds a refusal of the parser. The same format makes both texts, once with
// the arguments as they are and once with printable ones.
func malformed(id, format string, args ...any) *Refusal {
	printable := make([]any, len(args))
	var cause error
	for i, arg := range args {
		printable[i] = arg
		switch a := arg.(type) {
		case string:
			printable[i] = Printable(a)
		case error:
			cause = a
		}
	}
	return &Refusal{
		Rule:  RuleMalformed,
		ID:    id,
		text:  fmt.Sprintf(format, args...),
		safe:  fmt.Sprintf(format, printable...),
		cure:  malformedCure,
		cause: cause,
	}
}

// maxPrintable is how many bytes of one foreign string a message repeats.
const maxPrintable = 80

// Redacted prepares a string out of an annotation for people who ask to see it: a credential-like one is replaced whole.
// Quote the result with %q, since it may still hold control characters.
func Redacted(s string) string {
	for _, word := range strings.Fields(s) {
		if CredentialLike(word) {
			return "<redacted>"
		}
	}
	return s
}

// Printable prepares one for messages, events and audit annotations: it is redacted, and a long one is cut.
func Printable(s string) string {
	s = Redacted(s)
	if len(s) <= maxPrintable {
		return s
	}
	return text.Prefix(s, maxPrintable) + "..."
}

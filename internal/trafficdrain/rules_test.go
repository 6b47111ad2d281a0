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
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestValidate(t *testing.T) {
	good := Drain{ID: "maintenance-a", Cluster: "worker-a", Reason: "planned maintenance"}
	for _, tc := range []struct {
		name   string
		change func(*Drain)
		text   string
		rule   Rule
		says   string
	}{
		{"good", func(*Drain) {}, "", "", ""},
		{"no ID", func(d *Drain) { d.ID = "" }, textID, RuleID, `drain ID "" is empty`},
		{"ID 64 bytes", func(d *Drain) { d.ID = any64 }, textID, RuleID, "is 64 bytes long, at most 63 are allowed"},
		{"ID with dot", func(d *Drain) { d.ID = "a.b" }, textID, RuleID, `drain ID "a.b" is no DNS-1123 label`},
		{"ID ends in dash", func(d *Drain) { d.ID = "a-" }, textID, RuleID, "is no DNS-1123 label"},
		{"ID upper case", func(d *Drain) { d.ID = "A" }, textID, RuleID, "is no DNS-1123 label"},
		{"ID like a key", func(d *Drain) { d.ID = "sk-abcdefghijklmnopqrst" }, textID, RuleID, `drain ID "<redacted>" looks like a credential`},
		{"ID ends like a key", func(d *Drain) { d.ID = "a-sk-abcdefghijklmnopqrst" }, textID, RuleID, "looks like a credential"},
		{"ID with sk inside a word", func(d *Drain) { d.ID = "task-abcdefghijklmnopqrst" }, "", "", ""},
		{"no cluster", func(d *Drain) { d.Cluster = "" }, textCluster, RuleCluster, `cluster "" of drain "maintenance-a" is empty`},
		{"cluster with dots", func(d *Drain) { d.Cluster = "a.b.c" }, "", "", ""},
		{"cluster label of 64 bytes", func(d *Drain) { d.Cluster = any64 + ".example" }, "", "", ""},
		{"cluster 254 bytes", func(d *Drain) { d.Cluster = strings.Repeat("a", 254) }, textCluster, RuleCluster, "is 254 bytes long, at most 253 are allowed"},
		{"cluster with underscore", func(d *Drain) { d.Cluster = "a_b" }, textCluster, RuleCluster, "is no DNS-1123 subdomain"},
		{"cluster like a token", func(d *Drain) { d.Cluster = "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.cccccccccccccccc" }, textCluster, RuleCluster, "looks like a credential"},
		{"cluster almost like a token", func(d *Drain) { d.Cluster = "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.ccccccccccccccc" }, "", "", ""},
		{"no reason", func(d *Drain) { d.Reason = "" }, textReason, RuleReason, `the reason of drain "maintenance-a" is empty`},
		{"blank reason", func(d *Drain) { d.Reason = " \u3000" }, textReason, RuleReason, "is empty"},
		{"reason 256 bytes", func(d *Drain) { d.Reason = strings.Repeat("r", 256) }, "", "", ""},
		{"reason 257 bytes", func(d *Drain) { d.Reason = strings.Repeat("r", 257) }, textReason, RuleReason, "is 257 bytes long, at most 256 are allowed"},
		{"reason 129 letters of two bytes", func(d *Drain) { d.Reason = strings.Repeat("ä", 129) }, textReason, RuleReason, "is 258 bytes long"},
		{"reason not UTF-8", func(d *Drain) { d.Reason = "x\xff" }, textReason, RuleReason, "is not valid UTF-8"},
		{"reason with space before", func(d *Drain) { d.Reason = " r" }, textReason, RuleReason, "has leading or trailing white space"},
		{"reason with NBSP behind", func(d *Drain) { d.Reason = "r\u00a0" }, textReason, RuleReason, "has leading or trailing white space"},
		{"reason with NBSP inside", func(d *Drain) { d.Reason = "r\u00a0\u3000s" }, "", "", ""},
		{"reason with tab", func(d *Drain) { d.Reason = "r\ts" }, textReason, RuleReason, "holds the invisible character U+0009 at byte 1"},
		{"reason with DEL", func(d *Drain) { d.Reason = "r\x7fs" }, textReason, RuleReason, "U+007F"},
		{"reason with C1 control", func(d *Drain) { d.Reason = "r\u0091s" }, textReason, RuleReason, "U+0091"},
		{"reason with ZWSP", func(d *Drain) { d.Reason = "r\u200bs" }, textReason, RuleReason, "U+200B"},
		{"reason starts with BOM", func(d *Drain) { d.Reason = "\ufeffr" }, textReason, RuleReason, "U+FEFF at byte 0"},
		{"reason with line separator", func(d *Drain) { d.Reason = "r\u2028s" }, textReason, RuleReason, "U+2028"},
		{"reason with paragraph separator", func(d *Drain) { d.Reason = "r\u2029s" }, textReason, RuleReason, "U+2029"},
		{"reason with emoji", func(d *Drain) { d.Reason = "🔧 — rack 2 <b>&" }, "", "", ""},
		{"reason with key in a sentence", func(d *Drain) { d.Reason = "use sk-123456789012345678901234 then" }, textReason, RuleReason, "looks like a credential"},
		{"reason with key after a quote", func(d *Drain) { d.Reason = "'sk-12345678901234567890'" }, textReason, RuleReason, "looks like a credential"},
		{"reason with key too short", func(d *Drain) { d.Reason = "sk-1234567890123456789" }, "", "", ""},
		{"reason is a token", func(d *Drain) { d.Reason = token }, textReason, RuleReason, "looks like a credential"},
		{"reason has a token", func(d *Drain) { d.Reason = "token " + token }, "", "", ""},
		{"ID is judged before cluster", func(d *Drain) { d.ID, d.Cluster = "", "" }, textID, RuleID, ""},
		{"cluster is judged before reason", func(d *Drain) { d.Reason, d.Cluster = "", "" }, textCluster, RuleCluster, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			drain := good
			tc.change(&drain)
			err := drain.Validate()
			if tc.text == "" {
				assert.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.text)
			var refusal *Refusal
			require.True(t, errors.As(err, &refusal))
			assert.Equal(t, tc.rule, refusal.Rule)
			assert.Contains(t, refusal.Explain(), tc.says)
			assert.True(t, strings.HasPrefix(refusal.Explain(), tc.text+": "))
			if tc.rule == RuleReason && len(strings.TrimSpace(drain.Reason)) > 2 {
				assert.NotContains(t, refusal.Explain(), drain.Reason)
			}
		})
	}
}

func TestSafeScalar(t *testing.T) {
	for s, want := range map[string]bool{
		"":                                      false,
		"a":                                     true,
		strings.Repeat("a", 256):                true,
		strings.Repeat("a", 257):                false,
		"two words":                             false,
		"ä":                                     false,
		"a\n":                                   false,
		"kubernetes-admin@kubernetes":           true,
		"arn:aws:eks:us-east-1:1234:cluster/x":  true,
		"https://host:6443":                     true,
		"https://user@host:6443":                true,
		"https://user:pass@host":                false,
		"user:pass@host":                        false,
		"a@b:c":                                 true,
		"a@b:c@d":                               false,
		"x-sk-12345678901234567890":             false,
		token:                                   false,
		"default/api-example-com:6443/kube+adm": true,
	} {
		assert.Equal(t, want, SafeScalar(s), "%q", s)
	}
}

func TestPrintable(t *testing.T) {
	assert.Equal(t, "<redacted>", Redacted("key=sk-12345678901234567890"))
	assert.Equal(t, strings.Repeat("a", 256), Redacted(strings.Repeat("a", 256)), "whoever asks for it gets all of it")
	assert.Equal(t, "worker-a", Printable("worker-a"))
	assert.Equal(t, "<redacted>", Printable("key=sk-12345678901234567890"))
	assert.Equal(t, "<redacted>", Printable("token\t"+token))
	assert.Equal(t, strings.Repeat("a", 80), Printable(strings.Repeat("a", 80)))
	assert.Equal(t, strings.Repeat("a", 80)+"...", Printable(strings.Repeat("a", 81)))
	assert.Equal(t, strings.Repeat("a", 79)+"...", Printable(strings.Repeat("a", 79)+"ä"))
	assert.Equal(t, "...", Printable(strings.Repeat("\x80", 100)))
}

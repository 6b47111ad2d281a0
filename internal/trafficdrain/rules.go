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
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
)

// What OME's traffic commands say about a drain that they would not write.
const (
	textID      = "traffic override ID must be a DNS-1123 label"
	textCluster = "traffic drain cluster must be a DNS-1123 subdomain"
	textReason  = "traffic drain reason must be bounded, trimmed, printable, and non-secret"
)

// MaxReasonBytes is the longest reason that OME's traffic commands write or accept.
const MaxReasonBytes = 256

// ParseStrict reads a value by the rules of OME's traffic commands. They check, in this
// order: the size of the raw value, Parse, the number of drains, then each drain by ID.
// A value that breaks a rule blocks the commands for the whole service, so nothing that
// ParseStrict refuses should be let into the annotation.
func ParseStrict(value string) (Drains, error) {
	if refusal := checkSize(len(value)); refusal != nil {
		return nil, refusal
	}
	drains, err := Parse(value)
	if err != nil {
		return nil, err
	}
	if refusal := checkCount(len(drains)); refusal != nil {
		return nil, refusal
	}
	for _, d := range drains {
		if err := d.Validate(); err != nil {
			return nil, err
		}
	}
	return drains, nil
}

// Validate checks a drain by the rules of OME's traffic commands: the ID first, then the
// cluster, then the reason. The error is a *Refusal.
func (d Drain) Validate() error {
	if err := ValidateID(d.ID); err != nil {
		return err
	}
	if fault := clusterFault(d.Cluster); fault != "" {
		return refuse(RuleCluster, d.ID, textCluster,
			fmt.Sprintf("cluster %q of drain %q %s", Printable(d.Cluster), d.ID, fault),
			"Use the name of a WorkloadCluster as `kubectl get workloadclusters` prints it")
	}
	if fault := reasonFault(d.Reason); fault != "" {
		return refuse(RuleReason, d.ID, textReason,
			fmt.Sprintf("the reason of drain %q %s", d.ID, fault),
			fmt.Sprintf("Write 1 to %d bytes of plain text without line breaks, invisible characters or secrets", MaxReasonBytes))
	}
	return nil
}

// ValidateID checks the ID of a drain alone. The error is a *Refusal.
func ValidateID(id string) error {
	if fault := idFault(id); fault != "" {
		return refuse(RuleID, id, textID,
			fmt.Sprintf("drain ID %q %s", Printable(id), fault),
			`Use 1 to 63 of a-z, 0-9 and "-", with a letter or digit at both ends`)
	}
	return nil
}

func idFault(id string) string {
	switch {
	case id == "":
		return "is empty"
	case len(id) > validation.DNS1123LabelMaxLength:
		return fmt.Sprintf("is %d bytes long, at most %d are allowed", len(id), validation.DNS1123LabelMaxLength)
	case len(validation.IsDNS1123Label(id)) > 0:
		return "is no DNS-1123 label"
	case !SafeScalar(id):
		return "looks like a credential"
	default:
		return ""
	}
}

func clusterFault(cluster string) string {
	switch {
	case cluster == "":
		return "is empty"
	case len(cluster) > validation.DNS1123SubdomainMaxLength:
		return fmt.Sprintf("is %d bytes long, at most %d are allowed", len(cluster), validation.DNS1123SubdomainMaxLength)
	case len(validation.IsDNS1123Subdomain(cluster)) > 0:
		return "is no DNS-1123 subdomain"
	case !SafeScalar(cluster):
		return "looks like a credential"
	default:
		return ""
	}
}

func reasonFault(reason string) string {
	switch {
	case strings.TrimSpace(reason) == "":
		return "is empty"
	case len(reason) > MaxReasonBytes:
		return fmt.Sprintf("is %d bytes long, at most %d are allowed", len(reason), MaxReasonBytes)
	case !utf8.ValidString(reason):
		return "is not valid UTF-8"
	case strings.TrimSpace(reason) != reason:
		return "has leading or trailing white space"
	case CredentialLike(reason):
		return "looks like a credential"
	}
	for i, r := range reason {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return fmt.Sprintf("holds the invisible character %U at byte %d", r, i)
		}
	}
	return ""
}

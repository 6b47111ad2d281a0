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

package controlplane

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// WritesAuditPolicy records who wrote what, one event a request: level Metadata for
// every create, update, patch and delete, once it is answered; reads and watches
// are left out. It is what counting a component's API writes needs and costs the
// API server little.
func WritesAuditPolicy() *auditv1.Policy {
	return &auditv1.Policy{
		OmitStages: []auditv1.Stage{auditv1.StageRequestReceived},
		Rules: []auditv1.PolicyRule{
			{Level: auditv1.LevelMetadata, Verbs: []string{"create", "update", "patch", "delete", "deletecollection"}},
			{Level: auditv1.LevelNone},
		},
	}
}

// AuditLogPath returns the audit log, one JSON object of audit.k8s.io/v1 a line, or
// "" without Options.AuditPolicy. It is gone after Stop.
func (cp *ControlPlane) AuditLogPath() string {
	if cp.options.AuditPolicy == nil {
		return ""
	}
	return cp.folder.auditLog()
}

// AuditEvents returns everything that was audited so far. A request that has been
// answered is in it, because the API server writes its event first.
func (cp *ControlPlane) AuditEvents() ([]auditv1.Event, error) {
	if cp.options.AuditPolicy == nil {
		return nil, errors.New("this control plane has no audit log: start it with Options.AuditPolicy")
	}
	file, err := os.Open(cp.folder.auditLog())
	if errors.Is(err, os.ErrNotExist) && cp.ctx.Err() == nil {
		return nil, nil // nothing was audited yet
	}
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	return decodeAuditEvents(file)
}

// decodeAuditEvents leaves out a last line without an end: it is being written.
func decodeAuditEvents(log io.Reader) ([]auditv1.Event, error) {
	var events []auditv1.Event
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("line %d of the audit log: %w", len(events)+1, err)
		}
		events = append(events, event)
	}
}

// auditArgs keeps the log in one file: 0 would rotate it at 100 megabytes.
func auditArgs(f files) []string {
	return []string{
		"--audit-policy-file=" + f.auditPolicy(),
		"--audit-log-path=" + f.auditLog(),
		"--audit-log-maxsize=1000000",
	}
}

func writeAuditPolicy(f files, policy *auditv1.Policy) error {
	typed := policy.DeepCopy()
	typed.TypeMeta = metav1.TypeMeta{APIVersion: auditv1.SchemeGroupVersion.String(), Kind: "Policy"}
	content, err := json.Marshal(typed)
	if err != nil {
		return fmt.Errorf("encode the audit policy: %w", err)
	}
	return os.WriteFile(f.auditPolicy(), content, ownerOnly)
}

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

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// Request is what a benchmark needs of one line of an API server's audit log.
type Request struct {
	Verb, User, UserAgent                         string
	Group, Resource, Subresource, Namespace, Name string
	Code                                          int
	// Received is when the API server got the request, Done when it had answered.
	Received, Done time.Time
}

// Succeeded tells whether the API server did what it was asked.
func (r *Request) Succeeded() bool {
	return r.Code >= http.StatusOK && r.Code < http.StatusMultipleChoices
}

// Target names what was written, as RBAC rules do: "pods/binding",
// "events.events.k8s.io".
func (r *Request) Target() string {
	target := r.Resource
	if r.Group != "" {
		target += "." + r.Group
	}
	if r.Subresource != "" {
		target += "/" + r.Subresource
	}
	return target
}

// auditLine has only the fields that are used, because a line is decoded while the
// components that are measured run, on the same cores.
type auditLine struct {
	Stage     string `json:"stage"`
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestReceived time.Time `json:"requestReceivedTimestamp"`
	StageTime       time.Time `json:"stageTimestamp"`
}

// ParseRequest decodes one line of an audit log (audit.k8s.io/v1). ok is false for
// a request that is not answered yet.
func ParseRequest(line []byte) (request Request, ok bool, err error) {
	var decoded auditLine
	if err := json.Unmarshal(line, &decoded); err != nil {
		return Request{}, false, fmt.Errorf("decode a line of the audit log: %w", err)
	}
	return Request{
		Verb:        decoded.Verb,
		User:        decoded.User.Username,
		UserAgent:   decoded.UserAgent,
		Group:       decoded.ObjectRef.APIGroup,
		Resource:    decoded.ObjectRef.Resource,
		Subresource: decoded.ObjectRef.Subresource,
		Namespace:   decoded.ObjectRef.Namespace,
		Name:        decoded.ObjectRef.Name,
		Code:        decoded.ResponseStatus.Code,
		Received:    decoded.RequestReceived,
		Done:        decoded.StageTime,
	}, decoded.Stage == "ResponseComplete", nil
}

// AuditFollower reads a growing audit log from its start. Following a file tells
// how far a component has come without asking the API server anything. It is not
// safe for concurrent use.
type AuditFollower struct {
	path string
	// offset is the end of the last whole line that was read.
	offset int64
}

// NewAuditFollower follows the log at path, which need not exist yet.
func NewAuditFollower(path string) *AuditFollower {
	return &AuditFollower{path: path}
}

// Poll returns the requests that were answered since the last call. A last line
// without an end is left for the next call: it is being written.
func (f *AuditFollower) Poll() ([]Request, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("follow the audit log: %w", err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(f.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("follow the audit log: %w", err)
	}
	return f.read(bufio.NewReader(file))
}

func (f *AuditFollower) read(lines *bufio.Reader) ([]Request, error) {
	var requests []Request
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return requests, nil
		}
		if err != nil {
			return requests, fmt.Errorf("follow the audit log: %w", err)
		}
		request, ok, err := ParseRequest(line)
		if err != nil {
			return requests, fmt.Errorf("at byte %d: %w", f.offset, err)
		}
		f.offset += int64(len(line))
		if ok {
			requests = append(requests, request)
		}
	}
}

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
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
	"github.com/evenkeel-io/evenkeel/internal/cli"
)

const (
	// requestLimit is the longest that one request may take.
	requestLimit = 10 * time.Second
	// responseLimit is the largest answer that is read.
	responseLimit = 1 << 20
)

// Client makes the two requests of a guarded action. It follows no redirect and never
// tries again.
type Client struct {
	http     *http.Client
	base     *url.URL
	limit    time.Duration
	warnings io.Writer
}

// NewClient makes a client. Warnings of the API server are written to warnings. A timeout in
// the configuration that is shorter than ten seconds holds for each request.
func NewClient(config *rest.Config, warnings io.Writer) (*Client, error) {
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	limit := requestLimit
	if config.Timeout > 0 && config.Timeout < limit {
		limit = config.Timeout
	}
	config.Timeout = 0 // the requests' contexts carry it, so that its end reads the same everywhere
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	own := *client // the default client may be shared
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{http: &own, base: base, limit: limit, warnings: warnings}, nil
}

// answer is what came back.
type answer struct {
	code      int
	body      []byte
	oversized bool
}

func (a *answer) ok() bool { return a.code >= 200 && a.code < 300 }

// status is what the API server says about a request that it did not carry out.
func (a *answer) status() metav1.Status {
	var status metav1.Status
	if json.Unmarshal(a.body, &status) != nil || status.Kind != "Status" {
		return metav1.Status{Message: fmt.Sprintf("the server answered with HTTP status %d", a.code)}
	}
	return status
}

func (c *Client) do(ctx context.Context, method, path string, query url.Values, contentType types.PatchType, body []byte) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	target := c.base.JoinPath(path)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	if contentType != "" {
		request.Header.Set("Content-Type", string(contentType))
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	c.warn(response.Header)
	content, err := io.ReadAll(io.LimitReader(response.Body, responseLimit+1))
	if err != nil {
		return nil, err
	}
	return &answer{code: response.StatusCode, body: content, oversized: len(content) > responseLimit}, nil
}

func (c *Client) warn(header http.Header) {
	warnings, _ := utilnet.ParseWarningHeaders(header["Warning"])
	for _, w := range warnings {
		_, _ = fmt.Fprintf(c.warnings, "Warning: %s\n", OneLine(w.Text))
	}
}

func pathOf(namespace, name string) string {
	return fmt.Sprintf("/apis/%s/namespaces/%s/inferenceservices/%s", v1beta1.GroupVersion, namespace, name)
}

const messageRequestFailed = "required Kubernetes API request failed; check access and connectivity"

// unanswered turns the failure to get an answer into the command's error.
func unanswered(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &cli.Error{Message: context.DeadlineExceeded.Error()}
	case errors.Is(err, context.Canceled):
		return &cli.Error{Message: context.Canceled.Error()}
	default:
		return &cli.Error{Message: messageRequestFailed, Cause: OneLine(cli.Describe(err))}
	}
}

func refusedByServer(a *answer) error {
	return &cli.Error{Message: messageRequestFailed, Cause: OneLine(a.status().Message)}
}

// Read gets a service and checks that the answer is what was asked for.
func (c *Client) Read(ctx context.Context, namespace, name string) (*Service, error) {
	a, err := c.do(ctx, http.MethodGet, pathOf(namespace, name), nil, "", nil)
	if err != nil {
		return nil, unanswered(err)
	}
	if !a.ok() {
		return nil, refusedByServer(a)
	}
	if a.oversized {
		return nil, &cli.Error{Message: messageBounds, Cause: fmt.Sprintf("the service has more than %d bytes", responseLimit)}
	}
	service, err := decode(a.body)
	if err != nil {
		return nil, &cli.Error{Message: messageOtherTarget, Cause: OneLine(err.Error())}
	}
	if fault := service.differs(namespace, name, ""); fault != "" {
		return nil, &cli.Error{Message: messageOtherTarget, Cause: fault}
	}
	return service, nil
}

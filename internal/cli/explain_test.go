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

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// reported is what a user sees of an error.
func reported(err error) (string, int) {
	out := &bytes.Buffer{}
	code := Report(out, err)
	return out.String(), code
}

func silence(address string, err error) error {
	return fmt.Errorf("list modelreplicas: %w", &url.Error{Op: "Get", URL: address, Err: err})
}

func forbidden(verb, group, resource string) error {
	err := apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "",
		fmt.Errorf("User %q cannot %s resource %q in API group %q at the cluster scope", "jane", verb, resource, group))
	return fmt.Errorf("list %s: %w", resource, err)
}

func TestReportExplains(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connect: connection refused")}
	for name, tc := range map[string]struct {
		err  error
		says []string
	}{
		"no kubeconfig": {silence("http://localhost:8080/apis", refused), []string{"error: there is no kubeconfig", "nothing answers at localhost:8080", "set KUBECONFIG", "\ncause: list modelreplicas: Get"}},
		"unreachable":   {silence("https://hub.example:6443/apis", refused), []string{"error: the API server at hub.example:6443 cannot be reached", "is --context the right one?\ncause: list modelreplicas"}},
		"certificate":   {silence("https://hub.example/apis", errors.New("tls: failed to verify certificate: x509: certificate signed by unknown authority")), []string{"error: hub.example does not prove", "certificate-authority-data", "\ncause: "}},
		"credentials":   {silence("https://hub.example/apis", errors.New("getting credentials: exec: executable aws not found")), []string{"error: the program that the kubeconfig names for credentials", "\ncause: "}},
		"interrupted":   {silence("https://hub.example/apis", context.Canceled), []string{"error: interrupted", "\ncause: "}},
		"unauthorized":  {apierrors.NewUnauthorized("Unauthorized"), []string{"error: the API server does not know you", "credentials", "\ncause: Unauthorized\n"}},
		"may not list": {forbidden("list", modelplane.GroupVersion.Group, "modelreplicas"),
			[]string{"error: you may not list modelreplicas.modelplane.ai; ClusterRole evenkeel-viewer (manifests/hub/rbac) allows it\ncause: list modelreplicas: "}},
		"may not taint": {forbidden("patch", modelplane.GroupVersion.Group, "inferenceclusters"), []string{"you may not patch inferenceclusters.modelplane.ai; ClusterRole evenkeel-operator"}},
		"may not pause": {forbidden("create", evenkeel.GroupVersion.Group, "disruptionpolicies"), []string{"you may not create disruptionpolicies.evenkeel.io; ClusterRole evenkeel-pauser"}},
		"may not scale": {forbidden("patch", modelplane.GroupVersion.Group, "modeldeployments"), []string{"you may not patch modeldeployments.modelplane.ai; ask whoever keeps the hub"}},
		"a cluster's":   {forbidden("list", "", "nodes"), []string{"error: you may not list nodes; ask whoever keeps the cluster"}},
		"a webhook's":   {apierrors.NewForbidden(modelplane.Resource("inferenceclusters"), "east", errors.New("it cannot be")), []string{`error: inferenceclusters.modelplane.ai "east" is forbidden: it cannot be` + "\n"}},
		"another":       {errors.New("out of paper"), []string{"error: out of paper\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			said, code := reported(tc.err)
			assert.Equal(t, ExitError, code)
			for _, part := range tc.says {
				assert.Contains(t, said, part)
			}
		})
	}
	assert.Equal(t, "the API server does not know you: the credentials of the kubeconfig's user are missing, wrong or out of date: Unauthorized",
		Describe(apierrors.NewUnauthorized("Unauthorized")))
}

// TestNotServed reads kinds that nobody has installed.
func TestNotServed(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	for group, product := range map[string]string{"modelplane.ai": "Modelplane", "evenkeel.io": "Evenkeel", "ome.io": "OME", "example.org": "what serves them"} {
		resource := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
		want := fmt.Sprintf("error: the API server serves no things.%s: is --context the right one, and is %s installed there?\ncause: ", group, product)
		_, err := List[modelplane.ModelReplica](t.Context(), client, resource, "", metav1.ListOptions{})
		said, _ := reported(fmt.Errorf("list things: %w", err))
		assert.Contains(t, said, want)
		_, err = Get[modelplane.ModelReplica](t.Context(), client, resource, "ml", "one")
		said, _ = reported(err)
		assert.Contains(t, said, want)
	}
	said, _ := reported(apierrors.NewNotFound(modelplane.Resource("modelreplicas"), "one"))
	assert.Equal(t, "error: modelreplicas.modelplane.ai \"one\" not found\n", said)
}

func TestReportSeveral(t *testing.T) {
	conflict := &Error{Message: "changed", Cause: "version", Code: ExitConflict}
	said, code := reported(errors.Join(Prefix("namespace a", conflict), Prefix("namespace b", conflict)))
	assert.Equal(t, "error: namespace a: changed\ncause: version\nerror: namespace b: changed\ncause: version\n", said)
	assert.Equal(t, ExitConflict, code)
	_, code = reported(errors.Join(Prefix("namespace a", conflict), Prefix("namespace b", errors.New("no"))))
	assert.Equal(t, ExitError, code)
}

// TestAnswers is that the answer "no" is told from not knowing, whatever kept the command from it.
func TestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		err  error
		code int
	}{
		"yes":          {nil, nil, ExitOK},
		"no":           {nil, &Error{Code: ExitError}, ExitError},
		"failure":      {nil, errors.New("unreachable"), ExitUnknown},
		"refusal":      {nil, &Error{Message: "refused"}, ExitUnknown},
		"conflict":     {nil, &Error{Message: "changed", Code: ExitConflict}, ExitConflict},
		"flag":         {[]string{"--no-such"}, nil, ExitUnknown},
		"value":        {[]string{"--n=x"}, nil, ExitUnknown},
		"one too many": {[]string{"word"}, nil, ExitUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := &cobra.Command{Use: "check", Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return tc.err }}
			cmd.Flags().Int("n", 1, "")
			Answers(cmd)
			cmd.SetArgs(tc.args)
			if tc.args == nil {
				cmd.SetArgs([]string{})
			}
			_, code := reported(cmd.Execute())
			assert.Equal(t, tc.code, code)
		})
	}
}

// TestKubeconfig names what is wrong with flags and kubeconfig before anything is asked.
func TestKubeconfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: 'https://a.example'}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"), 0o600))
	for name, tc := range map[string]struct {
		set  func(f *Factory)
		says string
	}{
		"no such context": {func(f *Factory) { f.Flags.Context = ptr.To("nope") }, `context "nope" does not exist`},
		"no such cluster": {func(f *Factory) { f.Flags.ClusterName = ptr.To("nope") }, `cluster "nope" does not exist`},
		"no such file":    {func(f *Factory) { f.Flags.KubeConfig = ptr.To(file + "x") }, "no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			streams, _, _, _ := genericiooptions.NewTestIOStreams()
			f := NewFactory(Evenkeel, streams)
			f.Flags.KubeConfig = ptr.To(file)
			tc.set(f)
			_, err := f.Client()
			assert.ErrorContains(t, err, tc.says)
			assert.ErrorContains(t, err, "--kubeconfig, --context")
			assert.ErrorContains(t, err, "kubectl config view")
		})
	}
}

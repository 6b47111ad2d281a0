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
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
	ome "github.com/evenkeel-io/evenkeel/apis/ome/v1beta1"
)

// defaultServer is where kubectl, and so the plugin, asks when nothing says where to.
const defaultServer = "localhost:8080"

// explain tells what is wrong and what to do about it, where a request had no answer or was not allowed. What the API server
// or the network said becomes the cause. Any other error is a message by itself.
func explain(err error) *Error {
	said := &Error{}
	if errors.As(err, &said) {
		return said
	}
	if message := meaning(err); message != "" {
		return &Error{Message: message, Cause: err.Error()}
	}
	return &Error{Message: err.Error()}
}

// Describe is an error with its explanation on one line, for messages that it is a part of.
func Describe(err error) string { return explain(err).Error() }

// meaning is what an error of a request means to the user; empty if it says so itself.
func meaning(err error) string {
	var unanswered *url.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted before it was done"
	case errors.As(err, &unanswered):
		return meaningOfSilence(unanswered)
	case NotServed(err):
		resource, product := subject(err)
		return fmt.Sprintf("the API server serves no %s: is --context the right one, and is %s installed there?", resource, product)
	case apierrors.IsUnauthorized(err):
		return "the API server does not know you: the credentials of the kubeconfig's user are missing, wrong or out of date"
	case apierrors.IsForbidden(err):
		return meaningOfForbidden(err)
	default:
		return ""
	}
}

// meaningOfSilence is about requests that had no answer.
func meaningOfSilence(err *url.Error) string {
	server := err.URL
	if u, failed := url.Parse(err.URL); failed == nil {
		server = u.Host
	}
	said := err.Err.Error()
	switch {
	case server == defaultServer:
		return "there is no kubeconfig that says where the API server is, and nothing answers at " + server +
			": set KUBECONFIG, or give --kubeconfig or --server"
	case strings.Contains(said, "getting credentials: "):
		return "the program that the kubeconfig names for credentials has given none"
	case strings.Contains(said, "x509: ") || strings.Contains(said, "tls: "):
		return fmt.Sprintf("%s does not prove to be the API server that the kubeconfig means: is its certificate-authority-data up to date, and --server right?", server)
	default:
		return fmt.Sprintf("the API server at %s cannot be reached: does it run, can you reach it from here, and is --context the right one?", server)
	}
}

// meaningOfForbidden names the role that allows what was forbidden.
func meaningOfForbidden(err error) string {
	verb, resource, group := "", "", ""
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if details := status.Status().Details; details != nil {
			resource, group = details.Kind, details.Group
		}
		verb = verbOf(status.Status())
	}
	if verb == "" {
		return "" // it is not about rights: an admission plugin, such as one for quotas, or a webhook refused it
	}
	what := resource
	if group != "" {
		what += "." + group
	}
	return fmt.Sprintf("you may not %s %s%s", verb, what, cureOf(verb, resource, group))
}

// verbOf is what the API server says that may not be done; empty if it refused for another reason than rights.
func verbOf(status metav1.Status) string {
	_, after, found := strings.Cut(status.Message, " cannot ")
	verb, _, more := strings.Cut(after, " resource ")
	if !found || !more || strings.Contains(verb, " ") {
		return ""
	}
	return verb
}

// cureOf names the ClusterRole that allows something on a hub; there is none of Evenkeel's for a workload cluster's own kinds.
func cureOf(verb, resource, group string) string {
	reads := verb == "get" || verb == "list" || verb == "watch"
	role := ""
	switch {
	case group == ome.GroupVersion.Group, group == "", group == "apps", group == "policy":
		return "; ask whoever keeps the cluster for a role that allows it"
	case reads:
		role = "evenkeel-viewer"
	case group == modelplane.GroupVersion.Group && resource == "inferenceclusters":
		role = "evenkeel-operator"
	case group == evenkeel.GroupVersion.Group && resource == "disruptionpolicies":
		role = "evenkeel-pauser"
	default:
		return "; ask whoever keeps the hub for a role that allows it"
	}
	return fmt.Sprintf("; ClusterRole %s (manifests/hub/rbac) allows it", role)
}

// subject is what an API server does not serve, and what brings it.
func subject(err error) (resource, product string) {
	var missing *notServed
	if !errors.As(err, &missing) {
		return "such objects", "what serves them"
	}
	resource = missing.resource.String()
	switch missing.resource.Group {
	case evenkeel.GroupVersion.Group:
		return resource, "Evenkeel"
	case modelplane.GroupVersion.Group:
		return resource, "Modelplane"
	case ome.GroupVersion.Group:
		return resource, "OME"
	default:
		return resource, "what serves them"
	}
}

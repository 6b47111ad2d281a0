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

package simulation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
)

var placementPath = regexp.MustCompile(`^/apis/evenkeel\.io/v1alpha1/namespaces/([^/]+)/replicaplacements/([^/]+)(/status)?$`)

// api answers the scheduler's writes as an API server does: it has the status of placements, which is all that a scheduler
// writes besides its events.
type api struct {
	store *store
	clock clock.PassiveClock
}

// config is how clients reach it.
func (a *api) config() *rest.Config {
	return &rest.Config{Host: "http://simulation", Transport: a, QPS: -1}
}

// RoundTrip implements http.RoundTripper.
func (a *api) RoundTrip(request *http.Request) (*http.Response, error) {
	p, err := a.serve(request)
	if err == nil {
		body := *p
		body.SetGroupVersionKind(evenkeel.GroupVersion.WithKind("ReplicaPlacement"))
		return answer(http.StatusOK, &body)
	}
	status := apierrors.NewInternalError(err).Status()
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		status = known.Status()
	}
	status.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Status"})
	return answer(int(status.Code), &status)
}

func answer(code int, body any) (*http.Response, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code,
		Header:     http.Header{"Content-Type": []string{runtime.ContentTypeJSON}},
		Body:       io.NopCloser(bytes.NewReader(content)),
	}, nil
}

func (a *api) serve(request *http.Request) (*evenkeel.ReplicaPlacement, error) {
	match := placementPath.FindStringSubmatch(request.URL.Path)
	if match == nil {
		return nil, apierrors.NewMethodNotSupported(evenkeel.Resource("replicaplacements"), request.Method+" "+request.URL.Path)
	}
	namespace, name, status := match[1], match[2], match[3] != ""
	p := get[evenkeel.ReplicaPlacement](a.store, namespace, name)
	switch {
	case p == nil:
		return nil, apierrors.NewNotFound(evenkeel.Resource("replicaplacements"), name)
	case request.Method == http.MethodGet && !status:
		return p, nil
	case request.Method == http.MethodPut && status:
		return a.replaceStatus(p, request.Body)
	default:
		return nil, apierrors.NewMethodNotSupported(evenkeel.Resource("replicaplacements"), request.Method)
	}
}

func (a *api) replaceStatus(old *evenkeel.ReplicaPlacement, body io.Reader) (*evenkeel.ReplicaPlacement, error) {
	want := &evenkeel.ReplicaPlacement{}
	if err := json.NewDecoder(body).Decode(want); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if want.UID != old.UID || want.ResourceVersion != old.ResourceVersion {
		return nil, apierrors.NewConflict(evenkeel.Resource("replicaplacements"), old.Name,
			fmt.Errorf("it is at version %s of UID %s", old.ResourceVersion, old.UID))
	}
	p := old.DeepCopy()
	p.Status = want.Status
	a.keepTime(old.Status.Conditions, p.Status.Conditions)
	return p, a.store.put(p)
}

// keepTime gives the conditions the times of this hub: whoever writes them takes theirs from the clock on the wall.
func (a *api) keepTime(before, now []metav1.Condition) {
	for i := range now {
		was := meta.FindStatusCondition(before, now[i].Type)
		if was != nil && was.Status == now[i].Status {
			now[i].LastTransitionTime = was.LastTransitionTime
		} else {
			now[i].LastTransitionTime = metav1.NewTime(a.clock.Now())
		}
	}
}

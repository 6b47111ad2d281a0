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

package standin

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
)

const (
	// AnnotationFail on a ModelReplica, or on an InferenceCluster for all its
	// replicas, keeps a replica from being ready for as long as it is set. Its
	// value is told as the reason.
	AnnotationFail = "standin.evenkeel.io/fail"

	// Finalizer holds a deleted ModelReplica for Options.HoldTime.
	Finalizer = "standin.evenkeel.io/hold"

	// UserAgent of all requests of a stand-in, by which an audit log tells them
	// from Evenkeel's.
	UserAgent = "modelplane-stand-in"

	// DefaultRouteInterval is Options.RouteInterval where it is not set.
	DefaultRouteInterval = 5 * time.Second

	defaultWorkers = 4
)

// Options configures a stand-in. The zero value is the fastest one: replicas are
// ready as soon as they are seen, in one write each, and gone as soon as they are
// deleted.
type Options struct {
	// LoadTime is how long a replica loads before it is ready.
	LoadTime time.Duration
	// HoldTime is how long a deleted replica stays, terminating. A replica that is
	// deleted before the stand-in has seen it is not held.
	HoldTime time.Duration
	// RequestTime is how long a serving replica takes to answer. A request whose
	// replica is deleted meanwhile fails.
	RequestTime time.Duration
	// RouteInterval is how often the route of a ModelService is recomputed; zero
	// means DefaultRouteInterval. Creating the service, changing its spec or its
	// annotations does so at once.
	RouteInterval time.Duration
	// KeepClusterStatus leaves the status of clusters to somebody else, and opens
	// no gateway for them.
	KeepClusterStatus bool
	// Workers is how many objects of a kind are handled at a time; zero means 4.
	Workers int
	// Logger for one line a step; the zero value is silent.
	Logger logr.Logger
}

func (o *Options) validate() error {
	var problems []error
	for name, value := range map[string]time.Duration{
		"LoadTime": o.LoadTime, "HoldTime": o.HoldTime, "RequestTime": o.RequestTime, "RouteInterval": o.RouteInterval,
	} {
		if value < 0 {
			problems = append(problems, fmt.Errorf("%s is %s: it must not be negative", name, value))
		}
	}
	if o.Workers < 0 {
		problems = append(problems, fmt.Errorf("number of Workers is %d: it must not be negative", o.Workers))
	}
	return errors.Join(problems...)
}

// withDefaults fills in what is not set.
func (o Options) withDefaults() Options {
	if o.RouteInterval == 0 {
		o.RouteInterval = DefaultRouteInterval
	}
	if o.Workers == 0 {
		o.Workers = defaultWorkers
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	return o
}

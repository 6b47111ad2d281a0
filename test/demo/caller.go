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

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// callers ask at the same time, each again once it has its answer and has paused.
	callers    = 6
	callPause  = 50 * time.Millisecond
	answeredOK = "200 OK"
)

// caller asks a model all the time, as its users would.
type caller struct {
	url    string
	client *http.Client
	stop   chan struct{}
	done   sync.WaitGroup

	mu       sync.Mutex
	outcomes map[string]int
}

// startCaller begins to ask the gateway for a path.
func (s *stage) startCaller(path string) *caller {
	c := &caller{
		url:      s.standIn.GatewayURL() + path,
		client:   &http.Client{Timeout: requestTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: callers}},
		stop:     make(chan struct{}),
		outcomes: map[string]int{},
	}
	s.out.printf("   %d clients GET %s all the time\n", callers, c.url)
	for range callers {
		c.done.Go(c.callOn)
	}
	return c
}

func (c *caller) callOn() {
	for {
		outcome := c.call()
		c.mu.Lock()
		c.outcomes[outcome]++
		c.mu.Unlock()
		select {
		case <-c.stop:
			return
		case <-time.After(callPause):
		}
	}
}

// call asks once, and tells what came of it.
func (c *caller) call() string {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, c.url, nil)
	if err != nil {
		return err.Error()
	}
	response, err := c.client.Do(request)
	if err != nil {
		return "no answer"
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return "an answer that was cut off"
	}
	return response.Status
}

// end waits for the answers that are still due, and gives the calls by outcome.
func (c *caller) end() calls {
	close(c.stop)
	c.done.Wait()
	c.client.CloseIdleConnections()
	return c.sofar()
}

// sofar gives the calls up to now by outcome.
func (c *caller) sofar() calls {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.outcomes)
}

// calls counts requests by outcome.
type calls map[string]int

func (c calls) total() int {
	total := 0
	for _, n := range c {
		total += n
	}
	return total
}

func (c calls) failed() int { return c.total() - c[answeredOK] }

// String tells all outcomes, sorted.
func (c calls) String() string {
	var parts []string
	for _, outcome := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%d times %s", c[outcome], outcome))
	}
	return fmt.Sprintf("%d requests, %d failed: %s", c.total(), c.failed(), strings.Join(parts, ", "))
}

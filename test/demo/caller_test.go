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
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCall(t *testing.T) {
	var code atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if code.Load() == 0 {
			w.Header().Set("Content-Length", "10") // and then less
			_, _ = io.WriteString(w, "x")
			return
		}
		w.WriteHeader(int(code.Load()))
	}))
	c := &caller{url: server.URL, client: server.Client()}
	code.Store(200)
	assert.Equal(t, answeredOK, c.call())
	code.Store(503)
	assert.Equal(t, "503 Service Unavailable", c.call())
	code.Store(0)
	assert.Equal(t, "an answer that was cut off", c.call())
	server.Close()
	assert.Equal(t, "no answer", c.call())
}

func TestCalls(t *testing.T) {
	c := calls{answeredOK: 5, "no answer": 2, "404 Not Found": 1}
	assert.Equal(t, 8, c.total())
	assert.Equal(t, 3, c.failed())
	assert.Equal(t, "8 requests, 3 failed: 5 times 200 OK, 1 times 404 Not Found, 2 times no answer", c.String())
	assert.Zero(t, calls{answeredOK: 3}.failed())
}

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
	"net"
	"net/http"
	"time"
)

// headerTimeout keeps a client that says nothing from holding a connection.
const headerTimeout = 10 * time.Second

// listener is an HTTP server on a free loopback port.
type listener struct {
	server *http.Server
	socket net.Listener
	done   chan error
}

// listen takes a port; connections wait until serve is called.
func listen(handler http.Handler) (*listener, error) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on loopback: %w", err)
	}
	return &listener{
		server: &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout},
		socket: socket,
	}, nil
}

func (l *listener) serve() {
	l.done = make(chan error, 1)
	go func() { l.done <- l.server.Serve(l.socket) }()
}

// close ends the server and cuts its connections.
func (l *listener) close() error {
	if l.done == nil {
		return l.socket.Close()
	}
	err := l.server.Close()
	if served := <-l.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// address is host and port.
func (l *listener) address() string {
	return l.socket.Addr().String()
}

func (l *listener) url() string {
	return "http://" + l.address()
}

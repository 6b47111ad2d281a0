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
	"context"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// listenShared listens as a component does with --permit-port-sharing.
func listenShared(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var optErr error
		err := conn.Control(func(fd uintptr) {
			optErr = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		})
		if err != nil {
			return err
		}
		return optErr
	}}
	return config.Listen(ctx, "tcp", address)
}

func TestReservedPort(t *testing.T) {
	reservation, err := reservePort()
	require.NoError(t, err)
	address := fmt.Sprintf("127.0.0.1:%d", reservation.port)

	_, err = net.Listen("tcp", address)
	require.ErrorIs(t, err, syscall.EADDRINUSE, "a stranger took the port")
	_, err = net.Dial("tcp", address)
	require.ErrorIs(t, err, syscall.ECONNREFUSED, "somebody accepts while the component is down")

	component, err := listenShared(t.Context(), address)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	assert.NoError(t, conn.Close())
	require.NoError(t, component.Close())

	reservation.release()
	stranger, err := net.Listen("tcp", address)
	require.NoError(t, err, "the port was not released")
	assert.NoError(t, stranger.Close())
}

func TestReservedPortsDiffer(t *testing.T) {
	seen := map[int]bool{}
	for range 100 {
		reservation, err := reservePort()
		require.NoError(t, err)
		t.Cleanup(reservation.release)
		assert.False(t, seen[reservation.port], "port %d was given out twice", reservation.port)
		seen[reservation.port] = true
	}
}

func TestFreePort(t *testing.T) {
	port, err := FreePort()
	require.NoError(t, err)
	assert.Less(t, port, 32768, "outgoing connections may take what lies above")
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	require.NoError(t, err)
	assert.NoError(t, listener.Close())
}

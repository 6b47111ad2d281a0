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
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// portReservation keeps a loopback TCP port for a component from before it starts
// until the control plane ends, also while the component is down.
//
// It is a socket that is bound but does not listen, with SO_REUSEPORT set: the
// component, run with --permit-port-sharing, may bind the port too, but nobody who
// does not ask for sharing can, and the kernel gives the port to nobody who asks
// for any free one, nor to outgoing connections. Connections to the port are
// refused for as long as the component does not listen.
type portReservation struct {
	fd   int
	port int
}

// FreePort picks a loopback port for a program that cannot share one with a reservation. It lies below those that the
// kernel gives to outgoing connections and to who asks for any, so that it is still free when the program starts a moment
// later, or a second time.
func FreePort() (int, error) {
	const first, ports, tries = 20000, 10000, 100
	var err error
	for range tries {
		port := first + rand.IntN(ports)
		var listener net.Listener
		if listener, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("find a free loopback port: %w", err)
}

func reservePort() (*portReservation, error) {
	// The lock keeps a concurrent fork from inheriting the socket before
	// close-on-exec is set.
	syscall.ForkLock.RLock()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("reserve a loopback port: %w", err)
	}
	port, err := bindLoopback(fd)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("reserve a loopback port: %w", err)
	}
	return &portReservation{fd: fd, port: port}, nil
}

func bindLoopback(fd int) (int, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	bound, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("the socket is bound to %T, not to an IPv4 address", name)
	}
	return bound.Port, nil
}

func (r *portReservation) release() {
	// A close error of a socket that carried no data means nothing to anybody.
	_ = unix.Close(r.fd)
}

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

package traffic

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// terminal opens one and returns both its ends.
func terminal(t *testing.T) (person, command *os.File) {
	t.Helper()
	person, command, err := pty.Open()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = person.Close(), command.Close() })
	return person, command
}

// screen is what the command writes to; asked is closed when the first of it is there, by
// which time the terminal hands over every key.
type screen struct {
	content bytes.Buffer
	asked   chan struct{}
	once    sync.Once
}

func newScreen() *screen { return &screen{asked: make(chan struct{})} }

func (s *screen) Write(p []byte) (int, error) {
	defer s.once.Do(func() { close(s.asked) })
	return s.content.Write(p)
}

func TestConfirm(t *testing.T) {
	const no = "action not confirmed; noninteractive input requires --yes"
	for name, tc := range map[string]struct{ keys, want string }{
		"y":              {"y\r", ""},
		"Yes":            {"Yes\r", ""},
		"YES":            {"YES\n", ""},
		"mended":         {"n\x7fyess\x08\r", ""},
		"n":              {"n\r", no},
		"nothing":        {"\r", no},
		"a blank":        {" y\r", no},
		"yup":            {"yup\r", no},
		"too long":       {strings.Repeat("y", 17), no},
		"end of input":   {"\x04", no},
		"escape":         {"\x1b[A", no},
		"not ASCII":      {"ÿ\r", no},
		"interrupt":      {"y\x03", "context canceled"},
		"nothing to del": {"\x7fy\r", ""},
	} {
		t.Run(name, func(t *testing.T) {
			person, command := terminal(t)
			out := newScreen()
			answered := make(chan error, 1)
			go func() { answered <- confirm(t.Context(), command, out) }()
			<-out.asked
			_, err := io.WriteString(person, tc.keys)
			require.NoError(t, err)
			if err = <-answered; tc.want == "" {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, tc.want)
			}
			assert.True(t, strings.HasPrefix(out.content.String(), "Confirm this exact action? [y/N] "), out.content.String())
			assert.True(t, strings.HasSuffix(out.content.String(), "\r\n"))
		})
	}
}

func TestConfirmEndsWithTheCommand(t *testing.T) {
	_, command := terminal(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	assert.EqualError(t, confirm(ctx, command, io.Discard), "context deadline exceeded")
}

func TestConfirmWantsATerminal(t *testing.T) {
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = reader.Close(), writer.Close() }()
	_, err = io.WriteString(writer, "y\n")
	require.NoError(t, err)
	for name, in := range map[string]io.Reader{"a pipe": reader, "a buffer": strings.NewReader("y\n"), "none": nil} {
		var out bytes.Buffer
		assert.Error(t, confirm(t.Context(), in, &out), name)
		assert.Empty(t, out.String(), name)
	}
}

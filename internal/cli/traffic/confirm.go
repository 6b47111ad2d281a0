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
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/evenkeel-io/evenkeel/internal/cli"
)

const (
	prompt = "Confirm this exact action? [y/N] "
	// maxAnswer is how many characters an answer may have.
	maxAnswer = 16
)

var errNotConfirmed = &cli.Error{Message: "action not confirmed; noninteractive input requires --yes"}

// confirm asks on stderr and reads the answer from a terminal, key by key and without the
// terminal's own line editing, so that nothing that was piped or pasted in can confirm by
// accident. Anything but y or yes is a no. It ends with the context, too.
func confirm(ctx context.Context, in io.Reader, out io.Writer) error {
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return errNotConfirmed
	}
	state, err := term.MakeRaw(int(file.Fd()))
	if err != nil {
		return errNotConfirmed
	}
	defer func() { _ = term.Restore(int(file.Fd()), state) }()
	if _, err := io.WriteString(out, prompt); err != nil {
		return err
	}
	// The terminal is raw: a new line alone would not return the carriage.
	defer func() { _, _ = io.WriteString(out, "\r\n") }()

	keys := make(chan byte)
	go readKeys(ctx, file, keys)
	return judge(ctx, keys, out)
}

// readKeys ends with the context or the input; a read that is under way then ends with the
// process.
func readKeys(ctx context.Context, in io.Reader, keys chan<- byte) {
	defer close(keys)
	key := make([]byte, 1)
	for {
		if n, err := in.Read(key); n == 0 || err != nil {
			return
		}
		select {
		case keys <- key[0]:
		case <-ctx.Done():
			return
		}
	}
}

const (
	keyInterrupt = 0x03
	keyBackspace = 0x08
	keyDelete    = 0x7f
)

func judge(ctx context.Context, keys <-chan byte, out io.Writer) error {
	var answer []byte
	for {
		var key byte
		var more bool
		select {
		case <-ctx.Done():
			return &cli.Error{Message: ctx.Err().Error()}
		case key, more = <-keys:
		}
		switch {
		case !more:
			return errNotConfirmed
		case key == keyInterrupt:
			return &cli.Error{Message: context.Canceled.Error()}
		case key == '\r' || key == '\n':
			if said := strings.ToLower(string(answer)); said == "y" || said == "yes" {
				return nil
			}
			return errNotConfirmed
		case key == keyBackspace || key == keyDelete:
			if len(answer) > 0 {
				answer = answer[:len(answer)-1]
				_, _ = io.WriteString(out, "\b \b")
			}
		case key < ' ' || key > '~' || len(answer) == maxAnswer:
			return errNotConfirmed
		default:
			answer = append(answer, key)
			_, _ = fmt.Fprintf(out, "%c", key)
		}
	}
}

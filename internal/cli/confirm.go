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
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Terminal tells whether a stream is one, and gives its file.
func Terminal(stream any) (*os.File, bool) {
	file, ok := stream.(*os.File)
	return file, ok && term.IsTerminal(int(file.Fd()))
}

// Confirm asks a question on the error stream and reads the answer from a terminal; anything but y
// or yes is a no. Without a terminal nobody can answer, which is an error that names --yes.
func (f *Factory) Confirm(ctx context.Context, question string) error {
	in, ok := Terminal(f.In)
	if !ok {
		return &Error{Message: "not confirmed, and there is no terminal to ask on; read what is planned and say --yes"}
	}
	if _, err := fmt.Fprintf(f.ErrOut, "%s [y/N] ", question); err != nil {
		return err
	}
	answers := make(chan string, 1)
	go func() { answers <- readLine(in) }() // a read that nobody waits for ends with the process
	select {
	case <-ctx.Done():
		_, _ = fmt.Fprintln(f.ErrOut)
		return &Error{Message: "not confirmed; nothing was changed"}
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
		return &Error{Message: "not confirmed; nothing was changed"}
	}
}

func readLine(in io.Reader) string {
	line, _ := bufio.NewReader(in).ReadString('\n')
	return strings.ToLower(strings.TrimSpace(line))
}

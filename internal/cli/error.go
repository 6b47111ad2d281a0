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
	"fmt"
	"io"
)

// Exit codes that mean the same in every command.
const (
	ExitOK    = 0
	ExitError = 1
	// ExitUnfinished: what was asked for has begun and is not done.
	ExitUnfinished = 2
	// ExitUnknown: of a command that answers a question by ending with 0 or 1, that it could not find out.
	ExitUnknown = 2
	// ExitConflict: the object changed after it was read; nothing was written.
	ExitConflict = 3
)

// Error is how a command ends that did not do what it was asked for, where more is to be
// said than a message.
type Error struct {
	// Message is printed as "error: <message>". Empty prints nothing: the command has said
	// already what there is to say.
	Message string
	// Cause, if there is one, is what the API server or a rule said; it is printed on a
	// line of its own, so that programs which compare Message need not care.
	Cause string
	// Code is the exit code; 0 stands for ExitError, or for ExitUnknown of a command that Answers.
	Code int
}

func (e *Error) Error() string {
	if e.Cause == "" {
		return e.Message
	}
	return e.Message + ": " + e.Cause
}

// Report prints how a command ended and returns the exit code.
func Report(stderr io.Writer, err error) int {
	if err == nil {
		return ExitOK
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return reportAll(stderr, several.Unwrap())
	}
	said := explain(err)
	// Nobody can be told that nobody can be told.
	if said.Message != "" {
		_, _ = fmt.Fprintf(stderr, "error: %s\n", said.Message)
	}
	if said.Cause != "" {
		_, _ = fmt.Fprintf(stderr, "cause: %s\n", said.Cause)
	}
	if said.Code == 0 {
		return ExitError
	}
	return said.Code
}

// reportAll prints each of several errors. Only if they end with the same code is it that of all.
func reportAll(stderr io.Writer, all []error) int {
	code := ExitOK
	for _, err := range all {
		one := Report(stderr, err)
		if code == ExitOK {
			code = one
		} else if code != one {
			code = ExitError
		}
	}
	return code
}

// Prefix says in front of an error what it is about, and keeps its exit code and its cause.
func Prefix(about string, err error) error {
	said := *explain(err)
	said.Message = about + ": " + said.Message
	return &said
}

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

package v1alpha1

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

var (
	// GroupVersion is the group and version of every kind in this package.
	GroupVersion = schema.GroupVersion{Group: "config.evenkeel.io", Version: "v1alpha1"}
	// SchemeBuilder collects the functions that register this package's kinds and their defaults. A file that adds a
	// kind registers it from its own init function.
	SchemeBuilder = runtime.NewSchemeBuilder()
	// AddToScheme registers this package's kinds and their defaults with a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// strictDecoder is built at first use, when every file has registered its kinds.
var strictDecoder = sync.OnceValues(func() (*runtime.Scheme, runtime.Decoder) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		panic(fmt.Sprintf("register %s: %v", GroupVersion, err)) // a mistake in this package, found by any test of it
	}
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	return scheme, codecs.UniversalDecoder(GroupVersion)
})

// Decode reads JSON or YAML into an object of this package and sets the defaults. apiVersion and kind may be absent, as
// in a pluginConfig. A field that the kind does not have, a field given twice and another kind are errors that name it.
func Decode(data []byte, into runtime.Object) error {
	scheme, decoder := strictDecoder()
	kinds, _, err := scheme.ObjectKinds(into)
	if err != nil {
		return err
	}
	_, got, err := decoder.Decode(data, &kinds[0], into)
	if got != nil && *got != kinds[0] {
		return fmt.Errorf("want %s of %s, got %s of %s", kinds[0].Kind, GroupVersion, got.Kind, got.GroupVersion())
	}
	return err
}

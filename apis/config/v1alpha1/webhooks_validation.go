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
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// NoAddress is the bind address of what is not served.
const NoAddress = "0"

// setDefaultsWebhookServer names a server's objects after its program.
func setDefaultsWebhookServer(s *WebhookServer, program string) {
	setDefaultValue(&s.BindAddress, ":9443")
	setDefaultValue(&s.Namespace, "evenkeel-system")
	setDefaultValue(&s.Service, program+"-webhooks")
	setDefaultValue(&s.Secret, program+"-webhooks")
	setDefaultValue(&s.Configuration, "evenkeel-"+program)
}

func setDefaultsHubWebhooks(w *HubWebhooks) {
	setDefaultsWebhookServer(&w.WebhookServer, "hub-manager")
	setDefaultValue(&w.TrafficDrain.Blackout, VerdictDeny)
}

func validateWebhookServer(path *field.Path, s *WebhookServer) field.ErrorList {
	errs := validateAddress(path.Child("bindAddress"), s.BindAddress)
	for _, name := range []struct {
		field, value string
		check        func(string) []string
	}{
		{"namespace", s.Namespace, validation.IsDNS1123Label},
		{"service", s.Service, validation.IsDNS1035Label},
		{"secret", s.Secret, validation.IsDNS1123Subdomain},
		{"configuration", s.Configuration, validation.IsDNS1123Subdomain},
	} {
		for _, message := range name.check(name.value) {
			errs = append(errs, field.Invalid(path.Child(name.field), name.value, message))
		}
	}
	return errs
}

func validateHubWebhooks(path *field.Path, w *HubWebhooks) field.ErrorList {
	errs := validateWebhookServer(path, &w.WebhookServer)
	guard := path.Child("trafficDrain")
	if w.TrafficDrain.UnknownCluster != "" {
		errs = append(errs, validateVerdict(guard.Child("unknownCluster"), w.TrafficDrain.UnknownCluster)...)
	}
	return append(errs, validateVerdict(guard.Child("blackout"), w.TrafficDrain.Blackout)...)
}

func validateVerdict(path *field.Path, v Verdict) field.ErrorList {
	known := []Verdict{VerdictDeny, VerdictWarn}
	if slices.Contains(known, v) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, v, known)}
}

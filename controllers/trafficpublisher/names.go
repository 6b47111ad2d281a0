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

package trafficpublisher

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Labels of everything that is written for a map. Only an object that has them all is ours.
const (
	labelManagedBy = "ome.io/managed-by"
	labelService   = "ome.io/placement-endpoint-isvc"
	labelNamespace = "ome.io/placement-endpoint-isvc-namespace"
	// labelCluster is on Services only.
	labelCluster = "ome.io/placement-cluster"

	managedBy = "placement-endpoint"
)

// maxName is the longest name of a route and the longest value of a label.
const maxName = 63

const (
	routeSuffix    = "-global"
	routeHashChars = 8
	backendPrefix  = "tmb-"
	backendChars   = 52
	backendDomain  = "gateway-api-trafficmap-backend/v2"
)

func ownLabels(service types.NamespacedName) map[string]string {
	return map[string]string{
		labelManagedBy: managedBy,
		labelService:   shortened(service.Name),
		labelNamespace: service.Namespace,
	}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// routeName is the name of a service's route. In a namespace that is shared by the routes of
// all, it tells services of one name apart.
func routeName(service types.NamespacedName, routeNamespace string) string {
	if routeNamespace == service.Namespace {
		return shortened(service.Name + routeSuffix)
	}
	return shortened(service.Name + "-" + digest(service.String())[:routeHashChars] + routeSuffix)
}

// shortened cuts a name that is too long and puts a digest of the whole at its end.
func shortened(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.TrimRight(name[:maxName-routeHashChars-1], "-.") + "-" + digest(name)[:routeHashChars]
}

// backendName is the name of the Service that stands for a workload cluster.
func backendName(service types.NamespacedName, cluster string) string {
	return backendPrefix + digest(strings.Join([]string{backendDomain, service.Namespace, service.Name, cluster}, "\x00"))[:backendChars]
}

const targetPrefix = "v1:httproute:"

// targetOf is the route's name in the journal.
func targetOf(route types.NamespacedName) string {
	return fmt.Sprintf("%s%s/%s", targetPrefix, route.Namespace, route.Name)
}

// routeOf reads a name in the journal back.
func routeOf(target string) (types.NamespacedName, bool) {
	rest, ours := strings.CutPrefix(target, targetPrefix)
	namespace, name, whole := strings.Cut(rest, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, ours && whole
}

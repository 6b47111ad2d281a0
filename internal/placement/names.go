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

package placement

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/netip"
	"strconv"
	"strings"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// MaxLabelValue is how many characters the names of deployments and clusters may have: both become label values of
// ModelReplicas.
const MaxLabelValue = 63

const (
	namePrefixLength = 57
	nameHashLength   = 5
)

// ReplicaName is the name of a deployment's ModelReplica and ModelEndpoint: the deployment's name cut to 57 characters,
// without trailing dashes, and five hexadecimal digits of a hash over deployment, cluster and index. Modelplane's rule:
// a name made here is the one Modelplane would make.
func ReplicaName(deployment, cluster string, index int32) string {
	sum := sha256.Sum256([]byte(deployment + "-" + cluster + "-" + strconv.FormatInt(int64(index), 10)))
	prefix := strings.TrimRight(firstRunes(deployment, namePrefixLength), "-")
	return prefix + "-" + hex.EncodeToString(sum[:])[:nameHashLength]
}

// ReplicaNameOf is the name of a placement's ModelReplica: of the one that it adopts, else the one that follows from its
// assignment. It is empty while there is neither.
func ReplicaNameOf(p *evenkeel.ReplicaPlacement) string {
	if p.Spec.Adopts != "" || p.Status.Assignment == nil {
		return p.Spec.Adopts
	}
	return ReplicaName(p.Spec.DeploymentName, p.Status.Assignment.ClusterName, p.Status.Assignment.Index)
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// LowestFreeIndex is the lowest index from 0 that is not taken.
func LowestFreeIndex(taken func(int32) bool) int32 {
	for i := int32(0); i < math.MaxInt32; i++ {
		if !taken(i) {
			return i
		}
	}
	return math.MaxInt32
}

// EndpointURL tells where a replica's API is reached through its cluster's gateway, and the path that requests are
// rewritten to. An address is served over HTTP and wins over a hostname, which is served over HTTPS. It is not ok where
// the gateway has neither.
func EndpointURL(gateway *modelplane.Gateway, namespace, replica string) (url, rewritePath string, ok bool) {
	if gateway == nil {
		return "", "", false
	}
	var origin string
	switch {
	case gateway.Address != "":
		origin = "http://" + urlHost(gateway.Address)
	case gateway.Hostname != "":
		origin = "https://" + gateway.Hostname
	default:
		return "", "", false
	}
	rewritePath = "/" + namespace + "/" + replica + "/"
	return origin + rewritePath + "v1", rewritePath, true
}

func urlHost(address string) string {
	if ip, err := netip.ParseAddr(address); err == nil && ip.Is6() {
		return "[" + address + "]"
	}
	return address
}

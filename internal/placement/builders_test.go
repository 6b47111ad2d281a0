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
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

const testDriver = "gpu.acme.test"

// Selectors.

func atLeast(gib int) string {
	return fmt.Sprintf(`device.capacity[%q].memory.compareTo(quantity("%dGi")) >= 0`, testDriver, gib)
}

func lessThan(gib int) string {
	return fmt.Sprintf(`device.capacity[%q].memory.compareTo(quantity("%dGi")) < 0`, testDriver, gib)
}

func fabricIs(kind string) string {
	return fmt.Sprintf(`device.attributes["nic.acme.test"].kind == %q`, kind)
}

func ask(name string, count int64, selectors ...string) modelplane.DeviceRequest {
	request := modelplane.DeviceRequest{Name: name, Count: &count}
	for _, selector := range selectors {
		request.Selectors = append(request.Selectors, modelplane.DeviceSelector{CEL: selector})
	}
	return request
}

// askGPU is the usual request: one device of at least so many GiB.
func askGPU(gib int) modelplane.DeviceRequest { return ask("gpu", 1, atLeast(gib)) }

// Engines.

func memberOf(role modelplane.MemberRole, requests ...modelplane.DeviceRequest) modelplane.Member {
	m := modelplane.Member{Role: role}
	if len(requests) > 0 {
		m.NodeSelector = &modelplane.NodeSelector{Devices: requests}
	}
	return m
}

func workers(nodes int32, requests ...modelplane.DeviceRequest) modelplane.Member {
	m := memberOf(modelplane.MemberRoleWorker, requests...)
	m.Worker = &modelplane.WorkerGroup{Nodes: nodes}
	return m
}

func leader(requests ...modelplane.DeviceRequest) modelplane.Member {
	return memberOf(modelplane.MemberRoleLeader, requests...)
}

func single(name string, requests ...modelplane.DeviceRequest) modelplane.Engine {
	return engineOf(name, memberOf("", requests...))
}

func engineOf(name string, members ...modelplane.Member) modelplane.Engine {
	return modelplane.Engine{Name: name, Members: members}
}

// span is an engine over so many nodes, all of which claim.
func span(nodes int32) modelplane.Engine {
	return engineOf("main", leader(askGPU(80)), workers(nodes-1, askGPU(80)))
}

func copies(n int32, engine modelplane.Engine) modelplane.Engine {
	engine.Copies = &n
	return engine
}

// Deployments.

func deployment(name string, replicas int32, engines ...modelplane.Engine) *modelplane.ModelDeployment {
	d := &modelplane.ModelDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name}}
	d.Spec.Replicas = replicas
	d.Spec.Template.Spec.Engines = engines
	return d
}

func chat(replicas int32) *modelplane.ModelDeployment {
	return deployment("chat", replicas, single("main", askGPU(80)))
}

func tolerating(d *modelplane.ModelDeployment, tolerations ...modelplane.Toleration) *modelplane.ModelDeployment {
	d = d.DeepCopy()
	d.Spec.Template.Spec.Tolerations = tolerations
	return d
}

func selecting(d *modelplane.ModelDeployment, key, value string) *modelplane.ModelDeployment {
	d = d.DeepCopy()
	d.Spec.Template.Spec.ClusterSelector = &modelplane.LabelSelector{MatchLabels: map[string]string{key: value}}
	return d
}

// Clusters.

type clusterOption func(*modelplane.InferenceCluster)

func cluster(name string, options ...clusterOption) modelplane.InferenceCluster {
	c := modelplane.InferenceCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Status.Conditions = []metav1.Condition{{Type: modelplane.ConditionReady, Status: metav1.ConditionTrue}}
	c.Status.Gateway = &modelplane.Gateway{Address: "192.0.2.1"}
	for _, option := range options {
		option(&c)
	}
	return c
}

// poolOf adds a pool; without devices one of 96 GiB, as "east[h:2]" in the cases.
func poolOf(name string, nodes int64, devices ...modelplane.Device) clusterOption {
	if len(devices) == 0 {
		devices = []modelplane.Device{gpuDevice(96)}
	}
	return func(c *modelplane.InferenceCluster) {
		c.Status.GPUPools = append(c.Status.GPUPools, modelplane.GPUPool{Name: name, Nodes: nodes, Devices: devices})
	}
}

func tainted(taints ...modelplane.Taint) clusterOption {
	return func(c *modelplane.InferenceCluster) { c.Spec.Taints = append(c.Spec.Taints, taints...) }
}

func labelled(key, value string) clusterOption {
	return func(c *modelplane.InferenceCluster) { c.Labels = map[string]string{key: value} }
}

func withoutGateway(c *modelplane.InferenceCluster) { c.Status.Gateway.Address = "" }

func notReady(c *modelplane.InferenceCluster) {
	c.Status.Conditions[0].Status = metav1.ConditionFalse
	withoutGateway(c)
}

func withoutStatus(c *modelplane.InferenceCluster) {
	c.Status = modelplane.InferenceClusterStatus{}
}

func deviceOf(name string, gib int, count int64) modelplane.Device {
	return modelplane.Device{
		Name:            name,
		Driver:          testDriver,
		DeviceClassName: testDriver,
		Count:           &count,
		Capacity:        map[string]modelplane.DeviceCapacity{"memory": {Value: strconv.Itoa(gib) + "Gi"}},
	}
}

func gpuDevice(gib int) modelplane.Device { return deviceOf("gpu", gib, 1) }

func synthetic(d modelplane.Device) modelplane.Device {
	d.Name, d.Claim = d.Name+"-synthetic", modelplane.DeviceClaimSynthetic
	return d
}

func nic(kind string) modelplane.Device {
	return modelplane.Device{
		Name:       "nic",
		Claim:      modelplane.DeviceClaimSynthetic,
		Driver:     "nic.acme.test",
		Count:      ptr.To[int64](1),
		Attributes: map[string]modelplane.DeviceAttribute{"kind": {String: &kind}},
	}
}

// Taints and tolerations.

func taint(key, value string, effect modelplane.TaintEffect) modelplane.Taint {
	return modelplane.Taint{Key: key, Value: value, Effect: effect}
}

var (
	maintenance = taint("acme.test/maint", "soon", modelplane.TaintEffectNoSchedule)
	retirement  = taint("acme.test/retire", "", modelplane.TaintEffectNoExecute)
)

func exists(key string) modelplane.Toleration {
	return modelplane.Toleration{Key: key, Operator: modelplane.TolerationOpExists}
}

func existsFor(key string, effect modelplane.TaintEffect) modelplane.Toleration {
	return modelplane.Toleration{Key: key, Operator: modelplane.TolerationOpExists, Effect: effect}
}

// Replicas.

// running is a replica of a deployment, stamped with its template and with all requests claimed. It has one pool for all
// engines, or one for each.
func running(d *modelplane.ModelDeployment, cluster string, index int32, pools ...string) modelplane.ModelReplica {
	r := modelplane.ModelReplica{ObjectMeta: metav1.ObjectMeta{
		Namespace: d.Namespace,
		Name:      ReplicaName(d.Name, cluster, index),
		Labels: map[string]string{
			modelplane.LabelDeployment:   d.Name,
			modelplane.LabelCluster:      cluster,
			modelplane.LabelReplicaIndex: strconv.Itoa(int(index)),
		},
	}}
	r.Spec.ClusterName = cluster
	for i := range d.Spec.Template.Spec.Engines {
		engine := &d.Spec.Template.Spec.Engines[i]
		stamped := modelplane.ReplicaEngine{Name: engine.Name, Copies: engine.Copies}
		for j := range engine.Members {
			m := &engine.Members[j]
			member := modelplane.ReplicaMember{Role: m.Role, NodePoolName: pools[min(i, len(pools)-1)], Worker: m.Worker}
			if m.NodeSelector != nil {
				for _, request := range m.NodeSelector.Devices {
					member.DeviceRequests = append(member.DeviceRequests, modelplane.ReplicaDeviceRequest{
						Name: request.Name, DeviceClassName: testDriver, Count: request.Count, Selectors: request.Selectors,
					})
				}
			}
			stamped.Members = append(stamped.Members, member)
		}
		r.Spec.Engines = append(r.Spec.Engines, stamped)
	}
	return r
}

func named(name string, r modelplane.ModelReplica) modelplane.ModelReplica {
	r.Name = name
	return r
}

func indexed(index string, r modelplane.ModelReplica) modelplane.ModelReplica {
	r.Labels[modelplane.LabelReplicaIndex] = index
	return r
}

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

package simulation

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// Change is what somebody may do to a fleet.
type Change interface {
	fmt.Stringer
	apply(s *simulation) error
}

// Drain puts a NoExecute taint with a key on clusters, all at once.
func Drain(taintKey string, clusters ...string) Change {
	return drain{key: taintKey, clusters: clusters}
}

type drain struct {
	key      string
	clusters []string
}

func (c drain) String() string { return "drain " + strings.Join(c.clusters, " ") }

func (c drain) apply(s *simulation) error {
	for _, name := range c.clusters {
		old := get[modelplane.InferenceCluster](s.store, "", name)
		if old == nil {
			return fmt.Errorf("InferenceCluster %q does not exist on the hub; `kubectl evenkeel get clusters` lists those that do", name)
		}
		cluster := old.DeepCopy()
		now := metav1.NewTime(s.clock.Now())
		taint := modelplane.Taint{Key: c.key, Effect: modelplane.TaintEffectNoExecute, TimeAdded: &now}
		if !tainted(cluster, taint) {
			cluster.Spec.Taints = append(cluster.Spec.Taints, taint)
		}
		if err := s.store.put(cluster); err != nil {
			return err
		}
	}
	return nil
}

func tainted(c *modelplane.InferenceCluster, taint modelplane.Taint) bool {
	for i := range c.Spec.Taints {
		if c.Spec.Taints[i].Key == taint.Key && c.Spec.Taints[i].Effect == taint.Effect {
			return true
		}
	}
	return false
}

// Scale sets the number of replicas that a deployment wants.
func Scale(namespace, name string, replicas int32) Change {
	return scale{namespace: namespace, name: name, replicas: replicas}
}

type scale struct {
	namespace, name string
	replicas        int32
}

func (c scale) String() string {
	return fmt.Sprintf("scale %s/%s to %d", c.namespace, c.name, c.replicas)
}

func (c scale) apply(s *simulation) error {
	old := get[modelplane.ModelDeployment](s.store, c.namespace, c.name)
	switch {
	case old == nil:
		return fmt.Errorf("ModelDeployment %q does not exist in namespace %q", c.name, c.namespace)
	case !s.decider.Acts(old):
		return unmanaged(old)
	}
	d := old.DeepCopy()
	d.Spec.Replicas = c.replicas
	d.Generation++
	return s.putDeployment(d)
}

func unmanaged(d *modelplane.ModelDeployment) error {
	return fmt.Errorf("ModelDeployment %q in namespace %q is not Evenkeel's to place: set spec.template.spec.schedulerName, or the annotation %s, to %q",
		d.Name, d.Namespace, evenkeel.AnnotationSchedulerName, evenkeel.DefaultSchedulerName)
}

func (s *simulation) putDeployment(d *modelplane.ModelDeployment) error {
	s.due[client.ObjectKeyFromObject(d)] = true
	return s.store.put(d)
}

// Apply creates objects, or gives those that exist the spec, labels and annotations of these. It takes ModelDeployments,
// InferenceClusters and DisruptionPolicies. A cluster without a status keeps the one that the fleet has, and one without
// taints keeps its taints: they are other people's than those who write its file.
func Apply(objects ...client.Object) Change { return applied{objects} }

type applied struct{ objects []client.Object }

func (c applied) String() string {
	names := make([]string, 0, len(c.objects))
	for _, o := range c.objects {
		name := o.GetName()
		if o.GetNamespace() != "" {
			name = o.GetNamespace() + "/" + name
		}
		names = append(names, kindOf(o).Name()+" "+name)
	}
	return "apply " + strings.Join(names, ", ")
}

func (c applied) apply(s *simulation) error {
	for _, o := range c.objects {
		o = o.DeepCopyObject().(client.Object)
		old := s.store.find(kindOf(o), o.GetNamespace(), o.GetName())
		if err := s.applyOne(o, old); err != nil {
			return err
		}
	}
	return nil
}

func (s *simulation) applyOne(o, old client.Object) error {
	o.SetUID("")
	o.SetGeneration(1)
	o.SetCreationTimestamp(metav1.NewTime(s.clock.Now()))
	if old != nil {
		o.SetUID(old.GetUID())
		o.SetGeneration(old.GetGeneration() + 1)
		o.SetCreationTimestamp(old.GetCreationTimestamp())
	}
	switch o := o.(type) {
	case *modelplane.ModelDeployment:
		if !s.decider.Acts(o) {
			return unmanaged(o)
		}
		if old != nil {
			o.Status = old.(*modelplane.ModelDeployment).Status
		}
		return s.putDeployment(o)
	case *modelplane.InferenceCluster:
		if old != nil && o.Status.GPUPools == nil && o.Status.Conditions == nil {
			o.Status = old.(*modelplane.InferenceCluster).Status
		}
		if old != nil && o.Spec.Taints == nil {
			o.Spec.Taints = old.(*modelplane.InferenceCluster).Spec.Taints
		}
		return s.store.put(o)
	case *evenkeel.DisruptionPolicy:
		return s.store.put(o)
	default:
		return fmt.Errorf("a %s changes nothing about where replicas go: plan a ModelDeployment, an InferenceCluster or a DisruptionPolicy", kindOf(o).Name())
	}
}

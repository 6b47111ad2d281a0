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

package plan

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	evenkeel "github.com/evenkeel-io/evenkeel/apis/evenkeel/v1alpha1"
	modelplane "github.com/evenkeel-io/evenkeel/apis/modelplane/v1alpha1"
)

// contents are what files hold.
type contents struct {
	// objects are what is planned: deployments, clusters and policies.
	objects []client.Object
	// classes say what devices the nodes of clusters have.
	classes []modelplane.InferenceClass
	// leftOut names what a plan does not take, and where it stands.
	leftOut []string
}

// clusters gives the InferenceClusters among the objects.
func (c *contents) clusters() []*modelplane.InferenceCluster {
	var clusters []*modelplane.InferenceCluster
	for _, o := range c.objects {
		if cluster, is := o.(*modelplane.InferenceCluster); is {
			clusters = append(clusters, cluster)
		}
	}
	return clusters
}

// space is the namespace of the command line.
type space struct {
	namespace string
	// explicit tells that it was given by flag, and so must be that of the objects.
	explicit bool
}

// readObjects reads files, folders, addresses, kustomizations and, for "-", the stream, as kubectl apply does. It tells of
// everything that is wrong in them at once.
func readObjects(in io.Reader, options resource.FilenameOptions, within space) (*contents, error) {
	if len(options.Filenames) == 0 && options.Kustomize == "" {
		return nil, errors.New("name files or folders with -f, or a kustomization with -k; -f - reads standard input")
	}
	builder := resource.NewLocalBuilder().Unstructured().ContinueOnError().Flatten()
	if slices.Contains(options.Filenames, "-") {
		builder.Stream(in, "standard input")
		options.Filenames = slices.DeleteFunc(slices.Clone(options.Filenames), func(name string) bool { return name == "-" })
	}
	if len(options.Filenames) > 0 || options.Kustomize != "" {
		builder.FilenameParam(false, &options)
	}
	read := &contents{}
	decoder := newDecoder()
	err := builder.Do().Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		return read.add(decoder, info, within)
	})
	var all utilerrors.Aggregate
	if errors.As(err, &all) {
		return nil, errors.Join(all.Errors()...)
	}
	switch {
	case err != nil:
		return nil, err
	case len(read.objects) > 0:
		return read, nil
	case len(read.leftOut)+len(read.classes) > 0:
		return nil, errors.New("the files have no ModelDeployment, InferenceCluster or DisruptionPolicy: nothing else can be planned")
	default:
		return nil, errors.New("the files have no objects")
	}
}

// newDecoder knows the kinds that a plan takes, and no field that they do not have.
func newDecoder() runtime.Decoder {
	scheme := runtime.NewScheme()
	utilruntime.Must(evenkeel.AddToScheme(scheme))
	utilruntime.Must(modelplane.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

// add takes one object of a file.
func (c *contents) add(decoder runtime.Decoder, info *resource.Info, within space) error {
	u, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("%s: a %T is no object", info.Source, info.Object)
	}
	what := fmt.Sprintf("%s %q in %s", u.GetKind(), u.GetName(), info.Source)
	content, err := u.MarshalJSON()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	decoded, _, err := decoder.Decode(content, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		c.leftOut = append(c.leftOut, what)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch o := decoded.(type) {
	case *modelplane.InferenceClass:
		c.classes = append(c.classes, *o)
		return named(o, what)
	case *modelplane.InferenceCluster:
		c.objects = append(c.objects, o)
		return named(o, what)
	case *modelplane.ModelDeployment:
		c.objects = append(c.objects, o)
		return errors.Join(named(o, what), within.take(o, what), whole(o, what))
	case *evenkeel.DisruptionPolicy:
		c.objects = append(c.objects, o)
		return errors.Join(named(o, what), within.take(o, what))
	default:
		c.leftOut = append(c.leftOut, what)
		return nil
	}
}

func named(o client.Object, what string) error {
	if o.GetName() == "" {
		return fmt.Errorf("%s: metadata.name is missing", what)
	}
	return nil
}

// take puts an object without a namespace into that of the command line.
func (s space) take(o client.Object, what string) error {
	switch {
	case o.GetNamespace() == "":
		o.SetNamespace(s.namespace)
	case s.explicit && o.GetNamespace() != s.namespace:
		return fmt.Errorf("%s is in namespace %q, not in %q as --namespace says", what, o.GetNamespace(), s.namespace)
	}
	return nil
}

// whole checks what an API server would refuse and a plan would take for a wish.
func whole(d *modelplane.ModelDeployment, what string) error {
	if d.Spec.Replicas < 1 || d.Spec.Replicas > maxReplicas {
		return fmt.Errorf("%s: spec.replicas must be 1 to %d, not %d", what, maxReplicas, d.Spec.Replicas)
	}
	if len(d.Spec.Template.Spec.Engines) == 0 {
		return fmt.Errorf("%s: spec.template.spec.engines is missing", what)
	}
	return nil
}

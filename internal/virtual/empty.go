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

package virtual

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	schedulingv1alpha1 "k8s.io/api/scheduling/v1alpha1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// emptyKinds are the kinds, besides Pods and Nodes, that the scheduler or one of its in-tree plugins reads. A
// translated Pod refers to none of them. The hub may not serve some, its objects of the others have nothing to do with
// clusters, and the scheduler would wait for all of them and need leave to read them.
func emptyKinds() []runtime.Object {
	return []runtime.Object{
		&corev1.Namespace{},
		&corev1.PersistentVolume{},
		&corev1.PersistentVolumeClaim{},
		&policyv1.PodDisruptionBudget{},
		&resourcev1.DeviceClass{},
		&resourcev1.ResourceClaim{},
		&resourcev1.ResourceSlice{},
		&resourcev1alpha3.DeviceTaintRule{},
		&schedulingv1alpha1.Workload{},
		&storagev1.CSIDriver{},
		&storagev1.CSINode{},
		&storagev1.CSIStorageCapacity{},
		&storagev1.StorageClass{},
		&storagev1.VolumeAttachment{},
	}
}

func registerEmptyKinds(factory informers.SharedInformerFactory) {
	for _, kind := range emptyKinds() {
		factory.InformerFor(kind, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
			return cache.NewSharedIndexInformer(newNothing(), kind, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		})
	}
}

// nothing lists no objects and watches without an event until it is stopped.
type nothing struct {
	cache.ListWatch
}

func newNothing() *nothing {
	return &nothing{cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.NewProxyWatcher(make(chan watch.Event)), nil
		},
	}}
}

// IsWatchListSemanticsUnSupported makes the reflector list, since the watch does not stream initial objects.
func (*nothing) IsWatchListSemanticsUnSupported() bool {
	return true
}

//go:build integration

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

package controlplane_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
)

func TestFeatures(t *testing.T) {
	ownTempDir(t)
	cp := start(t, controlplane.Options{AuditPolicy: controlplane.WritesAuditPolicy()})
	t.Run("users have only the rights they were granted", func(t *testing.T) { testUser(t, cp) })
	t.Run("rights can be waited for", func(t *testing.T) { testAwaitRights(t, cp) })
	t.Run("service accounts authenticate by a token", func(t *testing.T) { testServiceAccount(t, cp) })
	t.Run("CRDs", func(t *testing.T) { testCRDs(t, cp) })
	t.Run("audit", func(t *testing.T) { testAudit(t, cp) })
	t.Run("controllers", func(t *testing.T) { testControllers(t, cp) })
	t.Run("usage", func(t *testing.T) { testUsage(t, cp) })
	t.Run("kubectl", func(t *testing.T) { testKubectl(t, cp) })
}

func testUser(t *testing.T, cp *controlplane.ControlPlane) {
	admin := client(t, cp.Config())
	config, err := cp.AddUser("jane", "ml-engineers")
	require.NoError(t, err)
	jane := client(t, config)
	_, err = jane.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "got %v", err)

	_, err = admin.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "viewers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "ml-engineers"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := jane.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		return err == nil
	}, patience, interval, "the role did not take effect")
	_, err = jane.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("janes"), metav1.CreateOptions{})
	assert.True(t, apierrors.IsForbidden(err), "got %v", err)
}

func testAwaitRights(t *testing.T, cp *controlplane.ControlPlane) {
	admin := client(t, cp.Config())
	require.NoError(t, cp.AwaitRights(t.Context(), "joe"), "whoever has no role has all that it grants")
	config, err := cp.AddUser("joe")
	require.NoError(t, err)
	joe := client(t, config)
	bind := func(role string) {
		_, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "joe-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "joe"}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for i := range 20 {
		role := &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("reader-%d", i)},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{fmt.Sprintf("map-%d", i)}, Verbs: []string{"get"}}},
		}
		_, err := admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
		require.NoError(t, err)
		bind(role.Name)
		require.NoError(t, cp.AwaitRights(t.Context(), "joe"))
		_, err = joe.CoreV1().ConfigMaps("default").Get(t.Context(), fmt.Sprintf("map-%d", i), metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "a right that was waited for is there: %v", err)
	}
	bind("nobody-has-made-it")
	require.ErrorContains(t, cp.AwaitRights(t.Context(), "joe"), `"nobody-has-made-it" not found`)
}

func testServiceAccount(t *testing.T, cp *controlplane.ControlPlane) {
	_, err := cp.ServiceAccount(t.Context(), "default", "robot")
	require.ErrorContains(t, err, "request a token of service account default/robot")

	admin := client(t, cp.Config())
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	_, err = admin.CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{})
	require.NoError(t, err)
	config, err := cp.ServiceAccount(t.Context(), "default", "robot")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, controlplane.WriteKubeconfig(path, config))
	read, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	answer, err := client(t, read).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, "system:serviceaccount:default:robot", answer.Status.UserInfo.Username)
}

func testCRDs(t *testing.T, cp *controlplane.ControlPlane) {
	require.ErrorContains(t, cp.InstallCRDs(t.Context(), filepath.Join("testdata", "none")), "no such file")
	require.NoError(t, cp.InstallCRDs(t.Context(), "testdata"))
	require.NoError(t, cp.InstallCRDs(t.Context(), filepath.Join("testdata", "crd.yaml")), "a second time")

	objects, err := dynamic.NewForConfig(cp.Config())
	require.NoError(t, err)
	widgets := schema.GroupVersionResource{Group: "test.evenkeel.io", Version: "v1", Resource: "widgets"}
	_, err = objects.Resource(widgets).Namespace("default").List(t.Context(), metav1.ListOptions{})
	assert.NoError(t, err, "it is not served yet")
}

func testAudit(t *testing.T, cp *controlplane.ControlPlane) {
	config, err := cp.AddUser("counted", "system:masters")
	require.NoError(t, err)
	clientset := client(t, config)
	for _, name := range []string{"one", "two", "three"} {
		create(t, clientset, name)
		require.True(t, exists(t, clientset, name))
	}
	require.NoError(t, clientset.CoreV1().ConfigMaps("default").Delete(t.Context(), "one", metav1.DeleteOptions{}))

	events, err := cp.AuditEvents()
	require.NoError(t, err)
	verbs := map[string]int{}
	for _, event := range events {
		if event.User.Username == "counted" {
			verbs[event.Verb]++
			assert.Equal(t, "configmaps", event.ObjectRef.Resource)
		}
	}
	assert.Equal(t, map[string]int{"create": 3, "delete": 1}, verbs)
	assert.FileExists(t, cp.AuditLogPath())
}

// A namespace is emptied and an orphan collected: the controllers work with the
// rights that RBAC grants to each of them.
func testControllers(t *testing.T, cp *controlplane.ControlPlane) {
	clientset := client(t, cp.Config())
	owner, err := clientset.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("owner"), metav1.CreateOptions{})
	require.NoError(t, err)
	owned := configMap("owned")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	_, err = clientset.CoreV1().ConfigMaps("default").Create(t.Context(), owned, metav1.CreateOptions{})
	require.NoError(t, err)
	namespace, err := clientset.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short-lived"}}, metav1.CreateOptions{})
	require.NoError(t, err)

	require.NoError(t, clientset.CoreV1().ConfigMaps("default").Delete(t.Context(), owner.Name, metav1.DeleteOptions{}))
	require.NoError(t, clientset.CoreV1().Namespaces().Delete(t.Context(), namespace.Name, metav1.DeleteOptions{}))

	require.Eventually(t, func() bool { return !exists(t, clientset, "owned") }, patience, interval, "the garbage collector does not work")
	require.Eventually(t, func() bool {
		_, err := clientset.CoreV1().Namespaces().Get(t.Context(), namespace.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, patience, interval, "the namespace controller does not work")
}

func testUsage(t *testing.T, cp *controlplane.ControlPlane) {
	if runtime.GOOS != "linux" {
		_, err := cp.Usage()
		require.Error(t, err)
		return
	}
	usages, err := cp.Usage()
	require.NoError(t, err)
	require.Len(t, usages, 3)
	for component, usage := range usages {
		assert.Equal(t, cp.PIDs()[component], usage.PID)
		assert.Greater(t, usage.RSSBytes, uint64(10<<20), component)
		assert.GreaterOrEqual(t, usage.PeakRSSBytes, usage.RSSBytes, component)
		assert.Positive(t, usage.CPU, component)
	}
}

func testKubectl(t *testing.T, cp *controlplane.ControlPlane) {
	kubectl := exec.CommandContext(t.Context(), filepath.Join(cp.BinDir(), "kubectl"), "--kubeconfig", cp.KubeconfigPath(), "version", "-o", "json")
	output, err := kubectl.CombinedOutput()
	require.NoError(t, err, "%s", output)
	assert.Regexp(t, `(?s)"clientVersion".*"gitVersion": "v1\.35\.`, string(output))
	assert.Regexp(t, `(?s)"serverVersion".*"gitVersion": "v1\.35\.`, string(output))
	assert.NotContains(t, string(output), "WARNING")
}

// A hub that does not serve device claims comes up, controller manager included.
func TestRuntimeConfig(t *testing.T) {
	ownTempDir(t)
	cp := start(t, controlplane.Options{RuntimeConfig: map[string]bool{"resource.k8s.io/v1": false}})
	groups, err := client(t, cp.Config()).Discovery().ServerGroups()
	require.NoError(t, err)
	var names []string
	for _, group := range groups.Groups {
		names = append(names, group.Name)
	}
	assert.NotContains(t, names, "resource.k8s.io")
	assert.Contains(t, names, "apps")
}

// Without the controller manager nothing makes service accounts; pods are accepted
// all the same.
func TestWithoutControllerManager(t *testing.T) {
	ownTempDir(t)
	cp := start(t, controlplane.Options{DisableControllerManager: true})
	require.Len(t, cp.PIDs(), 2)
	_, err := client(t, cp.Config()).CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}, metav1.CreateOptions{})
	assert.NoError(t, err)
}

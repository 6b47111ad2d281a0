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

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const rightsInterval = 20 * time.Millisecond

// grantedRule is a rule of a role, with the namespace in which it holds; empty is everywhere.
type grantedRule struct {
	rbacv1.PolicyRule
	namespace string
}

// AwaitRights waits until the API server grants a user, by the name that AddUser was given, all that the roles bound to
// this name say: it learns of a role and its binding a moment after the one who has made them, and refuses until then.
// What the user's groups are granted is not looked at. The wait ends with ctx.
func (cp *ControlPlane) AwaitRights(ctx context.Context, user string) error {
	rules, err := cp.rulesOf(ctx, user)
	if err != nil {
		return fmt.Errorf("find the roles of user %q: %w", user, err)
	}
	for _, rule := range rules {
		attributes := attributesOf(rule)
		if attributes == nil {
			continue
		}
		var last error
		err := wait.PollUntilContextCancel(ctx, rightsInterval, true, func(ctx context.Context) (bool, error) {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: attributes}}
			var answer *authorizationv1.SubjectAccessReview
			if answer, last = cp.admin.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{}); last != nil {
				return false, nil
			}
			return answer.Status.Allowed, nil
		})
		if err != nil {
			return fmt.Errorf("user %q may not yet %s %s.%s: %w", user, attributes.Verb, attributes.Resource, attributes.Group, errors.Join(err, last))
		}
	}
	return nil
}

// attributesOf gives one request that a rule allows; nil if it is about no resource. A rule becomes known as a whole.
func attributesOf(rule grantedRule) *authorizationv1.ResourceAttributes {
	if len(rule.Resources) == 0 {
		return nil
	}
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	attributes := &authorizationv1.ResourceAttributes{
		Namespace: rule.namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: subresource,
	}
	if len(rule.ResourceNames) > 0 {
		attributes.Name = rule.ResourceNames[0]
	}
	return attributes
}

func (cp *ControlPlane) rulesOf(ctx context.Context, user string) ([]grantedRule, error) {
	rbac := cp.admin.RbacV1()
	everywhere, err := rbac.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	inNamespaces, err := rbac.RoleBindings(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var rules []grantedRule
	add := func(ref rbacv1.RoleRef, subjects []rbacv1.Subject, namespace string) error {
		if !slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return userOf(s) == user }) {
			return nil
		}
		granted, err := cp.rulesOfRole(ctx, ref, namespace)
		for _, rule := range granted {
			rules = append(rules, grantedRule{PolicyRule: rule, namespace: namespace})
		}
		return err
	}
	var failures []error
	for _, b := range everywhere.Items {
		failures = append(failures, add(b.RoleRef, b.Subjects, ""))
	}
	for _, b := range inNamespaces.Items {
		failures = append(failures, add(b.RoleRef, b.Subjects, b.Namespace))
	}
	return rules, errors.Join(failures...)
}

func (cp *ControlPlane) rulesOfRole(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	if ref.Kind == "ClusterRole" {
		role, err := cp.admin.RbacV1().ClusterRoles().Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return role.Rules, nil
	}
	role, err := cp.admin.RbacV1().Roles(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return role.Rules, nil
}

// userOf gives the name of the user that a subject is; empty for a group.
func userOf(s rbacv1.Subject) string {
	switch s.Kind {
	case rbacv1.UserKind:
		return s.Name
	case rbacv1.ServiceAccountKind:
		return "system:serviceaccount:" + s.Namespace + ":" + s.Name
	default:
		return ""
	}
}

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
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	adminUser  = "evenkeel-admin"
	adminGroup = "system:masters"

	// noClientLimit switches client-go's rate limiter off. Zero would mean the
	// default of five requests a second.
	noClientLimit = -1

	// crdTimeout bounds InstallCRDs where the context has no deadline.
	crdTimeout = time.Minute
)

// Config returns a fresh client configuration of the administrator, who is in group
// system:masters. Its client-side rate limit is off.
func (cp *ControlPlane) Config() *rest.Config {
	return rest.CopyConfig(cp.adminConfig)
}

// KubeconfigPath returns the administrator's kubeconfig file. It is gone after Stop.
func (cp *ControlPlane) KubeconfigPath() string {
	return cp.folder.adminKubeconfig()
}

// AddUser returns the client configuration of a user with groups, made by signing a
// certificate: the API server knows the user at once and grants nothing beyond what
// RBAC grants to these names. Its client-side rate limit is off. Use
// WriteKubeconfig to hand it to another process.
func (cp *ControlPlane) AddUser(name string, groups ...string) (*rest.Config, error) {
	if name == "" {
		return nil, fmt.Errorf("add a user to the control plane: the name is empty")
	}
	pair, err := cp.authority.issueClient(name, groups)
	if err != nil {
		return nil, fmt.Errorf("add user %q to the control plane: %w", name, err)
	}
	return &rest.Config{
		Host: cp.localURL(APIServer, ""),
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   cp.authority.certificatePEM,
			CertData: pair.certificatePEM,
			KeyData:  pair.keyPEM,
		},
		QPS: noClientLimit,
	}, nil
}

// tokenSeconds is how long a service account's token lasts: longer than any test.
const tokenSeconds = 24 * 60 * 60

// ServiceAccount returns a client configuration with a token of a service account,
// which must exist: what a pod of it would authenticate by. Each call returns
// another token.
func (cp *ControlPlane) ServiceAccount(ctx context.Context, namespace, name string) (*rest.Config, error) {
	client, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		return nil, fmt.Errorf("create a client of the control plane: %w", err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](tokenSeconds)}}
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("request a token of service account %s/%s: %w", namespace, name, err)
	}
	return &rest.Config{
		Host:            cp.localURL(APIServer, ""),
		TLSClientConfig: rest.TLSClientConfig{CAData: cp.authority.certificatePEM},
		BearerToken:     token.Status.Token,
		QPS:             noClientLimit,
	}, nil
}

// WriteKubeconfig writes a configuration that AddUser, ServiceAccount or Config returned
// to a kubeconfig file, which only the current user can read. A kubeconfig cannot carry
// the rate limit.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "evenkeel"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
	}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	kubeconfig.CurrentContext = name
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		return fmt.Errorf("write a kubeconfig: %w", err)
	}
	return nil
}

// InstallCRDs creates or updates the CustomResourceDefinitions in the files and
// folders, not recursively, and waits until the API server serves them: until the
// deadline of ctx, else for a minute. A path that does not exist is an error.
func (cp *ControlPlane) InstallCRDs(ctx context.Context, paths ...string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("install CRDs: %w", err)
	}
	patience := crdTimeout
	if deadline, ok := ctx.Deadline(); ok {
		patience = time.Until(deadline)
	}
	_, err := envtest.InstallCRDs(cp.Config(), envtest.CRDInstallOptions{
		Paths:              paths,
		ErrorIfPathMissing: true,
		MaxTime:            patience,
	})
	if err != nil {
		return fmt.Errorf("install CRDs from %v: %w", paths, err)
	}
	return nil
}

// writeKubeconfigs writes the files of the administrator and the components.
func (cp *ControlPlane) writeKubeconfigs() error {
	for path, user := range map[string]string{
		cp.folder.kubeconfig(ControllerManager): controllerManagerUser,
		cp.folder.kubeconfig(Scheduler):         schedulerUser,
	} {
		config, err := cp.AddUser(user)
		if err != nil {
			return err
		}
		if err := WriteKubeconfig(path, config); err != nil {
			return err
		}
	}
	return WriteKubeconfig(cp.folder.adminKubeconfig(), cp.adminConfig)
}

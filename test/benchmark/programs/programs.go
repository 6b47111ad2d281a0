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

// Package programs runs Evenkeel's programs, and the stand-in for what makes replicas ready, for benchmarks that need a
// fleet at work, and makes the clusters and deployments of one. It must not measure.
package programs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/evenkeel-io/evenkeel/internal/controlplane"
	"github.com/evenkeel-io/evenkeel/internal/standin"
	"github.com/evenkeel-io/evenkeel/test/benchmark/harness"
)

// managerConfig has no election, which would only add writes of its lease, and no limit on what moves at a time.
const managerConfig = `apiVersion: config.evenkeel.io/v1alpha1
kind: HubManagerConfiguration
leaderElection: {leaderElect: false}
healthBindAddress: "0"
metricsBindAddress: "0"
webhooks: {bindAddress: "0"}
modelDeployments: {maxParallelMoves: 0, maxLoadingPerCluster: 0}
`

// Namespace that the programs are at home in, and the users that they are.
const (
	Namespace     = "evenkeel-system"
	ManagerUser   = "system:serviceaccount:" + Namespace + ":hub-manager"
	SchedulerUser = "system:serviceaccount:" + Namespace + ":hub-scheduler"
	// administrator may do everything.
	administrator = "system:serviceaccount:" + Namespace + ":administrator"
)

// Programs are Evenkeel's, each with the rights of its service account.
type Programs struct {
	Manager, Scheduler *harness.Child
}

// Grant creates the programs' namespace and their roles as shipped.
func Grant(ctx context.Context, environment *harness.Environment, c client.Client) error {
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}); err != nil {
		return fmt.Errorf("create namespace %s: %w", Namespace, err)
	}
	for _, manifest := range []string{
		environment.Manifest("hub", "scheduler", "base", "rbac.yaml"), environment.Manifest("hub", "manager", "rbac.yaml"),
	} {
		if err := harness.CreateAll(ctx, c, manifest); err != nil {
			return err
		}
	}
	return nil
}

// Start runs both. Their logs go to folder.
func Start(ctx context.Context, environment *harness.Environment, cp *controlplane.ControlPlane, folder string) (*Programs, error) {
	config := filepath.Join(folder, "manager.yaml")
	if err := os.WriteFile(config, []byte(managerConfig), 0o600); err != nil {
		return nil, err
	}
	manager, err := environment.StartProgram(ctx, cp, folder, "hub-manager", ManagerUser, "--config="+config)
	if err != nil {
		return nil, err
	}
	scheduler, err := environment.StartProgram(ctx, cp, folder, "hub-scheduler", SchedulerUser, "--leader-elect=false", "--secure-port=0",
		"--authentication-skip-lookup=true", "--kube-api-qps=5000", "--kube-api-burst=10000")
	if err != nil {
		manager.Stop(ctx)
		return nil, err
	}
	return &Programs{Manager: manager, Scheduler: scheduler}, nil
}

// Check returns an error if one of them has ended.
func (p *Programs) Check() error {
	if err := p.Manager.Check(); err != nil {
		return err
	}
	return p.Scheduler.Check()
}

// Stop ends both.
func (p *Programs) Stop(ctx context.Context) {
	p.Scheduler.Stop(ctx)
	p.Manager.Stop(ctx)
}

// Administrator returns the configuration of a client that may do everything and authenticates as the programs do, so
// that its requests cost the API server neither more nor less.
func Administrator(ctx context.Context, cp *controlplane.ControlPlane, c client.Client) (*rest.Config, error) {
	namespace, name, err := serviceaccount.SplitUsername(administrator)
	if err != nil {
		return nil, err
	}
	err = c.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "benchmark-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	})
	if err != nil {
		return nil, fmt.Errorf("grant everything to %s: %w", administrator, err)
	}
	return harness.ServiceAccount(ctx, cp, administrator)
}

// StartStandIn has replicas ready as soon as they are made. The clusters' status is the benchmark's.
func StartStandIn(ctx context.Context, config *rest.Config) (stop func() error, err error) {
	s, err := standin.New(config, standin.Options{KeepClusterStatus: true, Workers: 16})
	if err != nil {
		return nil, fmt.Errorf("start the stand-in: %w", err)
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	return func() error {
		cancel()
		return <-ended
	}, nil
}

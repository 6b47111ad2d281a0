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

import "fmt"

// The users that the controller manager and the scheduler authenticate as.
// Kubernetes' bootstrap RBAC grants them what they need, so these components run
// with the rights they have on a real cluster.
const (
	controllerManagerUser = "system:kube-controller-manager"
	schedulerUser         = "system:kube-scheduler"
	proxyUser             = "front-proxy-client"
)

// etcdArgs is a single member that clients and peers reach only through sockets in
// the control plane's folder. The advertised URL is required, must be TCP and is
// used by nobody. etcd ignores the path of a peer URL and takes its host for a file
// name, so it has to run in the folder.
func etcdArgs(f files) []string {
	return []string{
		"--name=evenkeel",
		"--data-dir=" + f.etcdData(),
		"--listen-client-urls=unix://" + f.etcdSocket(),
		"--listen-client-http-urls=unix://" + f.etcdHTTPSocket(),
		"--listen-peer-urls=unix://peer.sock",
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--log-level=warn",
		// The data need not survive a crash of the machine. A killed etcd loses
		// nothing: what it has written is in the page cache.
		"--unsafe-no-fsync",
	}
}

func apiServerArgs(f files, port int, options *Options) []string {
	args := []string{
		"--etcd-servers=unix://" + f.etcdSocket(),
		// Without it the address of the default route is looked for, and a machine
		// without a network has none.
		"--advertise-address=127.0.0.1",
		// EndpointSlices refuse loopback addresses, so the endpoint of the service
		// "kubernetes" cannot be published.
		"--endpoint-reconciler-type=none",
		"--client-ca-file=" + f.authority(),
		// The aggregation layer. Without it, the other components fill their logs
		// with errors about its missing authority.
		"--requestheader-client-ca-file=" + f.proxyAuthority(),
		"--requestheader-allowed-names=" + proxyUser,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + f.proxyClient(),
		"--proxy-client-key-file=" + f.proxyClientKey(),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + f.serviceAccountKey(),
		"--service-account-signing-key-file=" + f.serviceAccountKey(),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged=true",
	}
	args = append(args, servingArgs(f, port)...)
	if options.DisableControllerManager {
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	if options.AuditPolicy != nil {
		args = append(args, auditArgs(f)...)
	}
	args = append(args, switchesFlag("feature-gates", options.FeatureGates)...)
	args = append(args, switchesFlag("runtime-config", options.RuntimeConfig)...)
	return append(args, options.APIServerArgs...)
}

func controllerManagerArgs(f files, port int, options *Options) []string {
	args := []string{
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + f.serviceAccountKey(),
		"--root-ca-file=" + f.authority(),
		"--cluster-signing-cert-file=" + f.authority(),
		"--cluster-signing-key-file=" + f.authorityKey(),
	}
	args = append(args, clientArgs(f.kubeconfig(ControllerManager))...)
	args = append(args, servingArgs(f, port)...)
	args = append(args, switchesFlag("feature-gates", options.FeatureGates)...)
	return append(args, options.ControllerManagerArgs...)
}

func schedulerArgs(f files, port int, options *Options) []string {
	args := clientArgs(f.kubeconfig(Scheduler))
	args = append(args, servingArgs(f, port)...)
	args = append(args, switchesFlag("feature-gates", options.FeatureGates)...)
	return append(args, options.SchedulerArgs...)
}

// servingArgs makes a Kubernetes component serve on a reserved loopback port.
func servingArgs(f files, port int) []string {
	return []string{
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--permit-port-sharing=true", // with the reservation
		"--tls-cert-file=" + f.serving(),
		"--tls-private-key-file=" + f.servingKey(),
	}
}

// clientArgs connects a component to the API server. There is one of each, so
// leader election would only delay it; the API server's own fairness, not the
// default client limits, is what paces them.
func clientArgs(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--kube-api-qps=5000",
		"--kube-api-burst=10000",
	}
}

//go:build control_plane

package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func init() {
	programs["etcd"] = func() int { etcdmain.Main(os.Args); return 0 }
	programs["kube-apiserver"] = func() int { return cli.Run(apiserver.NewAPIServerCommand()) }
	programs["kube-controller-manager"] = func() int {
		return cli.Run(controllermanager.NewControllerManagerCommand())
	}
}

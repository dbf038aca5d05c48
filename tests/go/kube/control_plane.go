//go:build control_plane

package main

import (
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func init() {
	programs["kube-apiserver"] = apiserver.NewAPIServerCommand
	programs["kube-controller-manager"] = controllermanager.NewControllerManagerCommand
}

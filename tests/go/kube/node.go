//go:build node

package main

import (
	"context"

	"k8s.io/component-base/cli"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func init() {
	programs["kube-scheduler"] = func() int { return cli.Run(scheduler.NewSchedulerCommand()) }
	programs["kubelet"] = func() int {
		return cli.Run(kubelet.NewKubeletCommand(context.Background()))
	}
}

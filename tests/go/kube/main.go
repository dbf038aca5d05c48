// Kubernetes' own programs for the tests. Those of a set (control_plane.go, node.go) are one
// binary that is what it is called, as BusyBox is: they share nearly all of their code.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
)

// programs has an entry for each name that this binary goes by.
var programs = map[string]func() *cobra.Command{}

func main() {
	name := filepath.Base(os.Args[0])
	program, known := programs[name]
	if !known {
		fmt.Fprintf(os.Stderr, "%s is none of the programs that this binary was built with\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(program()))
}

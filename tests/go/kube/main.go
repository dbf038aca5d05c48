// Kubernetes' own programs for the tests. Those of a set (control_plane.go, node.go) are one
// binary that is what it is called, as BusyBox is: they share nearly all of their code.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// programs has an entry for each name that this binary goes by; it returns the exit code.
var programs = map[string]func() int{}

func main() {
	name := filepath.Base(os.Args[0])
	run, known := programs[name]
	if !known {
		fmt.Fprintf(os.Stderr, "%s is none of the programs that this binary was built with\n", name)
		os.Exit(2)
	}
	os.Exit(run())
}

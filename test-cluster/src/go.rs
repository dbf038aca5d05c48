//! Programs that are built from the modules that `tests/go` pins, once per machine.
//!
//! They are kept in `$XDG_CACHE_HOME/ipledger-tests` (`~/.cache` without it), in a directory that
//! is named after what they were built from, so a checkout of another version gets its own.

mod build;
mod cache;

use std::path::{Path, PathBuf};

use crate::Error;

/// A release of Kubernetes, as its programs are told it.
const KUBERNETES: &str = "-s -w -X k8s.io/component-base/version.gitVersion=v1.37.2 \
     -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37";

/// What can be built. Times are of a machine with two cores and nothing else to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoProgram {
    /// etcd 3.7, kube-apiserver and kube-controller-manager 1.37.2: 5 minutes, 136 MB.
    ControlPlane,
    /// kube-scheduler and kubelet 1.37.2: half a minute after the control plane, else 4 minutes.
    Node,
    /// The CNI plugin whereabouts 0.9.4: 1.5 minutes, 50 MB.
    Whereabouts,
}

/// How one is built.
struct Recipe {
    /// Directory below `tests/go`.
    module: &'static str,
    package: &'static str,
    tags: &'static str,
    linker_flags: &'static str,
    /// The names that it goes by; it is one binary.
    programs: &'static [&'static str],
    /// For who waits.
    duration: &'static str,
}

impl GoProgram {
    /// The directory with the programs, built now if this machine has not done so yet. Says on
    /// stderr what takes so long. Blocks, also while another process builds the same.
    ///
    /// # Errors
    /// [`Error::Build`]: no Go, no network for its modules, or they do not compile.
    pub fn build(self) -> Result<PathBuf, Error> {
        let (recipe, module) = (self.recipe(), self.module());
        let root = cache::root().ok_or_else(|| Error::Build {
            module: module.clone(),
            reason: "neither XDG_CACHE_HOME nor HOME names a directory to keep it in".to_owned(),
        })?;
        cache::get_or_make(&root, &recipe.digest(&module)?, |dir| {
            build::run(&recipe, &module, dir)
        })
    }

    /// The names of the programs in that directory.
    #[must_use]
    pub fn programs(self) -> &'static [&'static str] {
        self.recipe().programs
    }

    fn module(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../tests/go")
            .join(self.recipe().module)
    }

    fn recipe(self) -> Recipe {
        match self {
            Self::ControlPlane => Recipe {
                module: "kube",
                package: ".",
                tags: "control_plane",
                linker_flags: KUBERNETES,
                programs: &["kube-apiserver", "kube-controller-manager", "etcd"],
                duration: "5 minutes",
            },
            Self::Node => Recipe {
                module: "kube",
                package: ".",
                tags: "node",
                linker_flags: KUBERNETES,
                programs: &["kube-scheduler", "kubelet"],
                duration: "half a minute after the control plane, else 4 minutes",
            },
            Self::Whereabouts => Recipe {
                module: "whereabouts",
                package: "github.com/k8snetworkplumbingwg/whereabouts/cmd",
                tags: "",
                linker_flags: "-s -w",
                programs: &["whereabouts"],
                duration: "2 minutes",
            },
        }
    }
}

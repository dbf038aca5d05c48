//! kube-controller-manager.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::runtime::wait::await_condition;

use crate::Error;
use crate::supervised::Supervised;

/// Time until its first visible deed.
const BOUND: Duration = Duration::from_secs(60);

pub(super) fn start(
    program: &Path,
    dir: &Path,
    kubeconfig: &Path,
    signing_key: &Path,
) -> Result<Supervised, Error> {
    let arguments = [
        format!("--kubeconfig={}", kubeconfig.display()),
        format!(
            "--service-account-private-key-file={}",
            signing_key.display()
        ),
        // One of it, and it need not be asked anything.
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
    ];
    let log = dir.join("kube-controller-manager.log");
    Supervised::start("kube-controller-manager", program, &arguments, &log, None)
}

/// Waits until it has made the first ServiceAccount.
pub(super) async fn wait(process: &Supervised, client: &kube::Client) -> Result<(), Error> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let exists = |account: Option<&ServiceAccount>| account.is_some();
    let appears = await_condition(accounts, "default", exists);
    match tokio::time::timeout(BOUND, appears).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(process.not_ready(error.to_string())),
        Err(_) => {
            let bound = BOUND.as_secs();
            Err(process.not_ready(format!("it made no ServiceAccount within {bound} s")))
        }
    }
}

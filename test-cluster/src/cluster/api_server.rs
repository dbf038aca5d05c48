//! kube-apiserver.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use http::Request;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;

use crate::credentials::{self, Credentials};
use crate::supervised::Supervised;
use crate::{Access, Error};

/// Time for a start. It takes two seconds on an idle machine.
const BOUND: Duration = Duration::from_secs(120);

/// How often a starting server is asked.
const INTERVAL: Duration = Duration::from_millis(50);

/// What a start needs.
pub(super) struct Start<'a> {
    pub(super) program: &'a Path,
    pub(super) dir: &'a Path,
    pub(super) credentials: &'a Credentials,
    pub(super) etcd_port: u16,
    pub(super) port: u16,
}

/// The certificate, which the server makes for itself, and its key.
pub(super) fn certificate(dir: &Path) -> (PathBuf, PathBuf) {
    let dir = dir.join("certificates");
    (dir.join("apiserver.crt"), dir.join("apiserver.key"))
}

impl Start<'_> {
    pub(super) fn start(&self) -> Result<Supervised, Error> {
        let keys = self.credentials;
        let log = self.dir.join("kube-apiserver.log");
        let arguments = [
            format!("--etcd-servers=http://127.0.0.1:{}", self.etcd_port),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.port),
            // It would refuse to advertise a loopback address.
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--cert-dir={}", self.dir.join("certificates").display()),
            "--authorization-mode=Node,RBAC".to_owned(),
            format!("--token-auth-file={}", keys.tokens.display()),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", keys.public_key.display()),
            format!(
                "--service-account-signing-key-file={}",
                keys.signing_key.display()
            ),
            "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
            "--allow-privileged=true".to_owned(),
            // Pods can be made in a namespace whose ServiceAccount `default` nobody made.
            "--disable-admission-plugins=ServiceAccount".to_owned(),
        ];
        Supervised::start("kube-apiserver", self.program, &arguments, &log, None)
    }

    /// Waits until it is ready and has the namespaces that every cluster has. Returns how to reach
    /// it.
    pub(super) async fn wait(
        &self,
        server: &Supervised,
        etcd: &Supervised,
    ) -> Result<Access, Error> {
        let deadline = Instant::now() + BOUND;
        loop {
            if let Some(dead) = [etcd, server].into_iter().find(|process| !process.runs()) {
                return Err(dead.not_ready("it ended"));
            }
            if let Some(anonymous) = self.look().await? {
                return Ok(anonymous);
            }
            if Instant::now() >= deadline {
                let bound = BOUND.as_secs();
                return Err(server.not_ready(format!("/readyz was not ok within {bound} s")));
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    async fn look(&self) -> Result<Option<Access>, Error> {
        let (certificate, key) = certificate(self.dir);
        // The key is written after the certificate.
        if !key.exists() {
            return Ok(None);
        }
        let url = format!("https://127.0.0.1:{}", self.port);
        let anonymous = Access::anonymous(url, credentials::read(&certificate)?);
        let token = &self.credentials.admin_token;
        let client = anonymous
            .as_user("admin", "default", token)
            .client()
            .await?;
        Ok(is_ready(&client).await.then_some(anonymous))
    }
}

async fn is_ready(client: &kube::Client) -> bool {
    let request = Request::get("/readyz")
        .body(Vec::new())
        .expect("a path is a URI");
    let namespaces: Api<Namespace> = Api::all(client.clone());
    client.request_text(request).await.is_ok() && namespaces.get("kube-system").await.is_ok()
}

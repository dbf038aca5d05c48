//! Where an API server is and as whom to speak to it.

use std::fmt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use crate::Error;
use crate::credentials::write_private;

/// An address, the certificate to expect there, and a user's token.
#[derive(Clone)]
pub struct Access {
    url: String,
    certificates: String,
    token: Option<String>,
    user: String,
    namespace: String,
}

/// Without the token.
impl fmt::Debug for Access {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Access({} as {})", self.url, self.user)
    }
}

impl Access {
    /// Without a token: for who passes on the tokens of others.
    pub(crate) fn anonymous(url: String, certificates: String) -> Self {
        Self {
            url,
            certificates,
            token: None,
            user: "anonymous".to_owned(),
            namespace: "default".to_owned(),
        }
    }

    pub(crate) fn as_user(&self, user: &str, namespace: &str, token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            user: user.to_owned(),
            namespace: namespace.to_owned(),
            ..self.clone()
        }
    }

    pub(crate) fn at(&self, url: String) -> Self {
        Self {
            url,
            ..self.clone()
        }
    }

    /// The URL of the server.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The certificates to expect of the server, as PEM.
    #[must_use]
    pub fn certificates(&self) -> &str {
        &self.certificates
    }

    /// The bearer token.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// A client of its own. It belongs to the runtime that it is made on: make one per test.
    ///
    /// # Errors
    /// [`Error::Credentials`].
    pub async fn client(&self) -> Result<kube::Client, Error> {
        let config = self.config().await?;
        kube::Client::try_from(config).map_err(Error::kube("make a client"))
    }

    pub(crate) async fn config(&self) -> Result<kube::Config, Error> {
        let broken = Error::credentials("the kubeconfig");
        let kubeconfig: Kubeconfig = serde_json::from_value(self.kubeconfig()).map_err(broken)?;
        let options = KubeConfigOptions::default();
        kube::Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(Error::credentials("the kubeconfig"))
    }

    /// Writes a kubeconfig, readable by this user only.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write_kubeconfig(&self, path: &Path) -> Result<(), Error> {
        // JSON is YAML.
        write_private(path, &format!("{:#}\n", self.kubeconfig()))
    }

    fn kubeconfig(&self) -> Value {
        let certificates = STANDARD.encode(&self.certificates);
        let user = match &self.token {
            Some(token) => json!({"token": token}),
            None => json!({}),
        };
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "test",
                "cluster": {"server": self.url, "certificate-authority-data": certificates},
            }],
            "users": [{"name": self.user, "user": user}],
            "contexts": [{
                "name": "test",
                "context": {
                    "cluster": "test", "user": self.user, "namespace": self.namespace,
                },
            }],
            "current-context": "test",
        })
    }
}

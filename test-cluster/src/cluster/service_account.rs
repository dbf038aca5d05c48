//! Speaking as a ServiceAccount, so that a test runs under exactly its rights.

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;

use super::Cluster;
use crate::{Access, Error};

/// How long a token is good, in seconds. No test run is longer.
const TOKEN_SECONDS: i64 = 6 * 3600;

impl Cluster {
    /// As a ServiceAccount that exists.
    ///
    /// # Errors
    /// [`Error::Kube`] if it does not exist.
    pub async fn access_as(&self, namespace: &str, name: &str) -> Result<Access, Error> {
        let action = format!("ask for a token of ServiceAccount {namespace}/{name}");
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await?, namespace);
        let request = TokenRequest {
            spec: TokenRequestSpec {
                expiration_seconds: Some(TOKEN_SECONDS),
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let answer: TokenRequest = accounts
            .create_subresource("token", name, &PostParams::default(), &request)
            .await
            .map_err(Error::kube(action))?;
        let token = answer.status.map(|status| status.token).unwrap_or_default();
        let user = format!("system:serviceaccount:{namespace}:{name}");
        Ok(self.anonymous().as_user(&user, namespace, &token))
    }

    /// A new client of a ServiceAccount that exists.
    ///
    /// # Errors
    /// As [`Self::access_as`].
    pub async fn client_as(&self, namespace: &str, name: &str) -> Result<kube::Client, Error> {
        self.access_as(namespace, name).await?.client().await
    }
}

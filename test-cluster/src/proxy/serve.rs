//! Connections.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::State;
use super::forward::answer;
use crate::{Cluster, Error};

/// Listens on a port of its own. The task is over when it is aborted, with all connections.
pub(super) async fn start(
    cluster: &Cluster,
    state: Arc<State>,
) -> Result<(u16, JoinHandle<()>), Error> {
    let tls = TlsAcceptor::from(Arc::new(tls(cluster)?));
    let api_server = api_server(cluster).await?;
    let address = Path::new("127.0.0.1");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .map_err(Error::io("listen on", address))?;
    let local = listener.local_addr();
    let port = local.map_err(Error::io("ask the port of", address))?.port();
    let accepting = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    // An attempt that came to nothing is the client's to make again.
                    let Ok((stream, _)) = accepted else { continue };
                    let (tls, state) = (tls.clone(), Arc::clone(&state));
                    connections.spawn(serve(tls, stream, state, api_server.clone()));
                }
                Some(_) = connections.join_next() => {}
            }
        }
    });
    Ok((port, accepting))
}

/// The API server's own certificate, so that whoever trusts it trusts the proxy.
fn tls(cluster: &Cluster) -> Result<ServerConfig, Error> {
    let what = "the API server's certificate";
    let (certificate, key) = cluster.serving_certificate();
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(certificate)
        .map_err(Error::credentials(what))?
        .collect();
    let chain = chain.map_err(Error::credentials(what))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(Error::credentials(what))?;
    ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(Error::credentials(what))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(Error::credentials(what))
}

/// A client without a token, which sends what it is given once.
async fn api_server(cluster: &Cluster) -> Result<kube::Client, Error> {
    let mut config = cluster.anonymous().config().await?;
    config.default_retry = false;
    kube::Client::try_from(config).map_err(Error::kube("make a client"))
}

async fn serve(tls: TlsAcceptor, stream: TcpStream, state: Arc<State>, api_server: kube::Client) {
    let service = service_fn(|request| answer(&state, &api_server, request));
    // A connection that fails is what this proxy is for; its client is told.
    if let Ok(stream) = tls.accept(stream).await {
        let _ = http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }
}

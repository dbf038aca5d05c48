//! TLS of the lane's connection, as sqlx does it for reads: one URL says it for both. `disable`,
//! `prefer` (the default) and `require` prove nothing about the server, `verify-ca` its
//! certificate, `verify-full` its name as well. A unix socket needs none.

mod verifier;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::Error;
use verifier::AnyName;

/// How the lane connects.
pub(super) struct Target {
    pub(super) config: Config,
    /// Absent: without TLS.
    pub(super) tls: Option<MakeRustlsConnect>,
}

/// Read a URL with everything that it says about TLS.
///
/// # Errors
/// [`Error::Guard`] that names the key: not a URL, a mode that is none, a file that cannot be read.
pub(super) fn target(database_url: &str) -> Result<Target, Error> {
    let wrong = |text: String| Error::Guard(format!("database url: {text}"));
    let options: PgConnectOptions = database_url
        .parse()
        .map_err(|error: sqlx::Error| wrong(error.to_string()))?;
    let (rest, files) = split(database_url).map_err(wrong)?;
    let mut config: Config = rest
        .parse()
        .map_err(|error| wrong(super::connection::describe(&error)))?;
    let is_local = |host: &Host| matches!(host, Host::Unix(_));
    let mode = options.get_ssl_mode();
    if config.get_hosts().iter().all(is_local) || matches!(mode, PgSslMode::Disable) {
        config.ssl_mode(SslMode::Disable);
        return Ok(Target { config, tls: None });
    }
    config.ssl_mode(match mode {
        PgSslMode::Disable | PgSslMode::Allow | PgSslMode::Prefer => SslMode::Prefer,
        PgSslMode::Require | PgSslMode::VerifyCa | PgSslMode::VerifyFull => SslMode::Require,
    });
    let tls = client(mode, &files).map_err(wrong)?;
    Ok(Target {
        config,
        tls: Some(MakeRustlsConnect::new(tls)),
    })
}

/// What else a URL, or else the environment, says about TLS.
#[derive(Debug, Default, PartialEq, Eq)]
struct Files {
    root: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

/// The URL without its keys about TLS, which the other driver does not know, and their values.
fn split(database_url: &str) -> Result<(String, Files), String> {
    let from = |name| std::env::var_os(name).map(PathBuf::from);
    let mut files = Files {
        root: from("PGSSLROOTCERT"),
        certificate: from("PGSSLCERT"),
        key: from("PGSSLKEY"),
    };
    let Some((base, query)) = database_url.split_once('?') else {
        return Ok((database_url.to_owned(), files));
    };
    let mut kept = Vec::new();
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let file = match key {
            "sslmode" | "ssl-mode" => continue,
            "sslrootcert" | "ssl-root-cert" | "ssl-ca" => &mut files.root,
            "sslcert" | "ssl-cert" => &mut files.certificate,
            "sslkey" | "ssl-key" => &mut files.key,
            _ => {
                kept.push(pair);
                continue;
            }
        };
        let path = percent_encoding::percent_decode_str(value)
            .decode_utf8()
            .map_err(|_| format!("{key} \"{value}\" is not UTF-8"))?;
        *file = Some(PathBuf::from(path.as_ref()));
    }
    let query = kept.join("&");
    let separator = if query.is_empty() { "" } else { "?" };
    Ok((format!("{base}{separator}{query}"), files))
}

fn client(mode: PgSslMode, files: &Files) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS: {error}"))?;
    let builder = match mode {
        PgSslMode::VerifyFull => builder.with_root_certificates(roots(files)?),
        PgSslMode::VerifyCa => builder
            .dangerous()
            .with_custom_certificate_verifier(AnyName::of_trusted(roots(files)?, provider)?),
        _ => builder
            .dangerous()
            .with_custom_certificate_verifier(AnyName::of_anybody(provider)),
    };
    match (&files.certificate, &files.key) {
        (None, None) => Ok(builder.with_no_client_auth()),
        (Some(certificate), Some(key)) => builder
            .with_client_auth_cert(certificates("sslcert", certificate)?, private_key(key)?)
            .map_err(|error| format!("sslcert {}: {error}", certificate.display())),
        (Some(_), None) => Err("sslcert without sslkey".to_owned()),
        (None, Some(_)) => Err("sslkey without sslcert".to_owned()),
    }
}

/// The authorities that are trusted: those of the file, else the well-known ones.
fn roots(files: &Files) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match &files.root {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            for certificate in certificates("sslrootcert", path)? {
                roots
                    .add(certificate)
                    .map_err(|error| format!("sslrootcert {}: {error}", path.display()))?;
            }
        }
    }
    Ok(roots)
}

fn certificates(key: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{key} {}: {error}", path.display());
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .map_err(|error| wrong(&error))?
        .collect::<Result<_, _>>()
        .map_err(|error| wrong(&error))?;
    if found.is_empty() {
        return Err(wrong(&"has no certificate"));
    }
    Ok(found)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path)
        .map_err(|error| format!("sslkey {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_about_tls_is_taken_out_of_the_url() {
        let url = "postgres://u@h/d?sslmode=verify-full&application_name=x&sslrootcert=%2Fa%20b";
        let (rest, files) = split(url).unwrap();
        assert_eq!(rest, "postgres://u@h/d?application_name=x");
        assert_eq!(files.root, Some(PathBuf::from("/a b")));
        let (rest, _) = split("postgres://u@h/d?sslmode=require").unwrap();
        assert_eq!(rest, "postgres://u@h/d");
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        let said = |url: &str| target(url).err().unwrap().to_string();
        let missing = said("postgres://u@h/d?sslmode=verify-full&sslrootcert=/nowhere/ca.pem");
        assert!(
            missing.contains("sslrootcert /nowhere/ca.pem: "),
            "{missing}"
        );
        let alone = said("postgres://u@h/d?sslmode=require&sslcert=/nowhere/c.pem");
        assert!(alone.contains("sslcert without sslkey"), "{alone}");
        let mode = said("postgres://u@h/d?sslmode=maybe");
        assert!(mode.contains("maybe"), "{mode}");
    }

    #[test]
    fn a_socket_needs_none() {
        let url = "postgres://u@%2Frun%2Fpostgresql/d?sslmode=require";
        assert!(target(url).unwrap().tls.is_none());
    }
}

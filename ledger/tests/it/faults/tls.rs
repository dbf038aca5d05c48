//! One URL says for reads and for the lane alike how much the server must prove.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use embedded_postgres::{Cluster, Settings};
use ledger::{Error, Ledger, StoreConfig, SystemClock};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::servers::{DATABASE, binaries, prepare, temporary};
use crate::guard::sql::{connect, run, text};
use crate::support::{add, allocate};

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).expect("a server with TLS");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a server with TLS"))
        .expect("a server with TLS")
}

/// A server that speaks TLS as `localhost`, and the port where it does.
async fn server(dir: &Path, authority: &CertifiedIssuer<'static, KeyPair>) -> (Cluster, u16) {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a server with TLS");
    let port = free.local_addr().expect("a server with TLS").port();
    drop(free);
    let mut settings = Settings::throwaway(dir);
    settings.tcp_port = Some(port);
    let cluster = Cluster::start(&binaries(), settings)
        .await
        .expect("a server with TLS");
    prepare(&cluster).await;
    let set = ledger::set_app_password(&cluster.url(DATABASE), "secret").await;
    set.expect("a password");
    let key = KeyPair::generate().expect("a server with TLS");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a server with TLS");
    let certificate = params
        .signed_by(&key, authority)
        .expect("a server with TLS");
    let data = dir.join("cluster");
    let owner = fs::metadata(&data).expect("a server with TLS");
    for (name, pem) in [
        ("server.crt", certificate.pem()),
        ("server.key", key.serialize_pem()),
    ] {
        let file = data.join(name);
        fs::write(&file, pem).expect("a server with TLS");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("a server with TLS");
        chown(&file, Some(owner.uid()), Some(owner.gid())).expect("a server with TLS");
    }
    let client = connect(&cluster.url("postgres")).await;
    run(&client, "alter system set ssl = on").await;
    run(&client, "select pg_reload_conf()").await;
    // A new session sees what was reloaded, as soon as it was.
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while text(
        &connect(&cluster.url("postgres")).await,
        "select current_setting('ssl')",
    )
    .await
        != "on"
    {
        assert!(std::time::Instant::now() < deadline, "TLS is off");
    }
    (cluster, port)
}

async fn open(url: &str) -> Result<Ledger, Error> {
    Ledger::open(&StoreConfig::new(url), Arc::new(SystemClock)).await
}

#[tokio::test]
async fn the_server_proves_what_the_url_asks_for() {
    let (dir, other_dir) = (temporary(), temporary());
    let (ours, other) = (authority(), authority());
    let (cluster, port) = server(dir.path(), &ours).await;
    let file = |name: &str, pem: String| {
        let path = other_dir.path().join(name);
        fs::write(&path, pem).unwrap();
        path.display().to_string()
    };
    let (ca, wrong) = (file("ca.pem", ours.pem()), file("wrong.pem", other.pem()));
    let url = |host: &str, rest: &str| {
        format!("postgres://ipledger_app:secret@{host}:{port}/{DATABASE}?sslmode={rest}")
    };
    let observer = connect(&cluster.url("postgres")).await;
    let lane = "select coalesce(string_agg(s.ssl::text, ','), 'none') from pg_stat_ssl s \
        join pg_stat_activity a using (pid) where a.application_name = 'ipledger lane'";
    for (number, (host, rest, is_encrypted)) in [
        ("127.0.0.1", "disable".to_owned(), "false"),
        ("127.0.0.1", "prefer".to_owned(), "true"),
        ("127.0.0.1", "require".to_owned(), "true"),
        ("127.0.0.1", format!("verify-ca&sslrootcert={ca}"), "true"),
        ("localhost", format!("verify-full&sslrootcert={ca}"), "true"),
    ]
    .into_iter()
    .enumerate()
    {
        let ledger = open(&url(host, &rest)).await.expect(&rest);
        let request = allocate(&format!("c{number}"), "10.0.0.0/24");
        add(&ledger, request).await.expect(&rest);
        assert_eq!(text(&observer, lane).await, is_encrypted, "{rest}");
        ledger.close().await;
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while text(&observer, lane).await != "none" {
            assert!(
                std::time::Instant::now() < deadline,
                "the lane is still there"
            );
        }
    }
    for (host, rest) in [
        ("127.0.0.1", format!("verify-ca&sslrootcert={wrong}")),
        ("localhost", format!("verify-full&sslrootcert={wrong}")),
        // The certificate names another host.
        ("127.0.0.1", format!("verify-full&sslrootcert={ca}")),
        // Well-known authorities did not sign it.
        ("localhost", "verify-full".to_owned()),
    ] {
        let refused = open(&url(host, &rest)).await.expect_err(&rest);
        let said = refused.to_string();
        assert!(said.contains("certificate"), "{rest}: {said}");
    }
    let missing = open(&url("localhost", "verify-full&sslrootcert=/nowhere/ca.pem")).await;
    let said = missing.err().unwrap().to_string();
    assert!(said.contains("sslrootcert /nowhere/ca.pem"), "{said}");
    drop(cluster);
}

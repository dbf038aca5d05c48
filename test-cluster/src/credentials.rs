//! What the API server signs tokens with, and the token of the administrator.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};

use crate::Error;

/// In front of a point of P-256 in DER: "a public key of this curve follows" (RFC 5480).
const P256_PUBLIC_KEY: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Files that the API server is started with.
#[derive(Debug)]
pub(crate) struct Credentials {
    pub(crate) signing_key: PathBuf,
    pub(crate) public_key: PathBuf,
    pub(crate) tokens: PathBuf,
    pub(crate) admin_token: String,
}

impl Credentials {
    /// Makes new ones in `dir`.
    pub(crate) fn make(dir: &Path) -> Result<Self, Error> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let broken = Error::credentials("the key for ServiceAccounts");
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(broken)?;
        let broken = Error::credentials("the key for ServiceAccounts");
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).map_err(broken)?;
        let public = [&P256_PUBLIC_KEY, pair.public_key().as_ref()].concat();
        let admin_token = token(&random)?;
        let made = Self {
            signing_key: dir.join("service-accounts.key"),
            public_key: dir.join("service-accounts.pub"),
            tokens: dir.join("tokens.csv"),
            admin_token,
        };
        let admin = format!("{},admin,admin,\"system:masters\"\n", made.admin_token);
        write_private(&made.signing_key, &pem("PRIVATE KEY", pkcs8.as_ref()))?;
        write_private(&made.public_key, &pem("PUBLIC KEY", &public))?;
        write_private(&made.tokens, &admin)?;
        Ok(made)
    }
}

fn token(random: &SystemRandom) -> Result<String, Error> {
    let mut bytes = [0; 16];
    random
        .fill(&mut bytes)
        .map_err(Error::credentials("the token of the administrator"))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = (0..text.len())
        .step_by(64)
        .map(|start| &text[start..text.len().min(start + 64)])
        .collect();
    let body = lines.join("\n");
    format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
}

/// For our eyes only.
pub(crate) fn write_private(path: &Path, content: &str) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(path).map_err(Error::io("make", path))?;
    file.write_all(content.as_bytes())
        .map_err(Error::io("write", path))
}

/// The text of a file that a program of ours wrote.
pub(crate) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(Error::io("read", path))
}

//! The verifier of the modes that prove less than a certificate with the server's name.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Takes any name. The signatures of the handshake must fit the certificate all the same.
#[derive(Debug)]
pub(super) struct AnyName {
    provider: Arc<CryptoProvider>,
    /// Absent: a certificate of any authority.
    chain: Option<Arc<WebPkiServerVerifier>>,
}

impl AnyName {
    /// Encrypted, and nothing else, as `require` says.
    pub(super) fn of_anybody(provider: Arc<CryptoProvider>) -> Arc<AnyName> {
        let chain = None;
        Arc::new(AnyName { provider, chain })
    }

    /// On a certificate of a trusted authority, as `verify-ca` says.
    pub(super) fn of_trusted(
        roots: RootCertStore,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<AnyName>, String> {
        let roots = Arc::new(roots);
        let chain = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| format!("sslrootcert: {error}"))?;
        let chain = Some(chain);
        Ok(Arc::new(AnyName { provider, chain }))
    }
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else {
            return Ok(ServerCertVerified::assertion());
        };
        // The name is looked at last: whoever fails there has passed the rest.
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

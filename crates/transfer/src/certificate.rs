//! The certificate of one session: made by the server for it, and the only one that the client trusts.

use super::failure::TransferFailure;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConfig, Resumption};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::ServerConfig;
use rustls::{CertificateError, DigitallySignedStruct, Error, PeerIncompatible, SignatureScheme};
use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;

/// The name in the certificates. Nothing depends on it: the fingerprint is what is compared.
pub(crate) const SERVER_NAME: &str = "caudal";
/// The protocol over TLS and QUIC (RFC 7301).
const ALPN: &[u8] = b"caudal-file";

/// A self-signed certificate with its key, in memory only.
pub struct SessionCertificate {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl SessionCertificate {
    /// A new one.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn generate() -> io::Result<Self> {
        let made = rcgen::generate_simple_self_signed([SERVER_NAME.to_owned()])
            .map_err(io::Error::other)?;
        Ok(Self {
            certificate: made.cert.der().clone(),
            key: PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()),
        })
    }

    /// The certificate as it is announced to the client.
    pub fn fingerprint(&self) -> CertificateFingerprint {
        CertificateFingerprint::of(&self.certificate)
    }

    /// The settings of a server with this certificate.
    ///
    /// # Errors
    /// The certificate cannot be used.
    pub(super) fn server_config(&self) -> Result<ServerConfig, TransferFailure> {
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|builder| {
                let key = PrivateKeyDer::Pkcs8(self.key.clone_key());
                builder
                    .with_no_client_auth()
                    .with_single_cert(vec![self.certificate.clone()], key)
            })
            .map_err(|cause| prepare_failure(&cause))?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

impl fmt::Debug for SessionCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionCertificate({})", self.fingerprint())
    }
}

/// The BLAKE3 digest of a certificate (DER); hexadecimal as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CertificateFingerprint([u8; 32]);

impl CertificateFingerprint {
    fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(*blake3::hash(certificate).as_bytes())
    }

    /// The settings of a client that trusts this certificate alone.
    ///
    /// # Errors
    /// The provider of cryptography has no TLS 1.3.
    pub(super) fn client_config(self) -> Result<ClientConfig, TransferFailure> {
        let provider = provider();
        let verifier = PinnedCertificate {
            fingerprint: self,
            algorithms: provider.signature_verification_algorithms,
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|cause| prepare_failure(&cause))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = Resumption::disabled();
        Ok(config)
    }
}

impl fmt::Display for CertificateFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl FromStr for CertificateFingerprint {
    type Err = hex::FromHexError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut digest = [0; 32];
        hex::decode_to_slice(text, &mut digest)?;
        Ok(Self(digest))
    }
}

/// Trusts one certificate.
#[derive(Debug)]
struct PinnedCertificate {
    fingerprint: CertificateFingerprint,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if CertificateFingerprint::of(end_entity) == self.fingerprint {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// ring, with AES-128-GCM alone, so that every transfer is protected in the same way.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256],
        ..ring::default_provider()
    })
}

/// The failure of a client whose server has another certificate.
pub(super) fn wrong_certificate() -> TransferFailure {
    let text = "the certificate at the other end is not the one that the server announced";
    TransferFailure::Connection(text.to_owned())
}

fn prepare_failure(cause: &Error) -> TransferFailure {
    TransferFailure::Connection(format!("cannot prepare TLS: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_read_back_from_its_text() {
        let certificate = SessionCertificate::generate().unwrap();
        let text = certificate.fingerprint().to_string();
        assert_eq!(text.len(), 64);
        assert_eq!(text.parse(), Ok(certificate.fingerprint()));
        for wrong in ["", "12", &text[1..], &text.replace(|_| true, "x")] {
            assert!(
                wrong.parse::<CertificateFingerprint>().is_err(),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn every_session_has_a_certificate_of_its_own() {
        let one = SessionCertificate::generate().unwrap();
        let other = SessionCertificate::generate().unwrap();
        assert_ne!(one.fingerprint(), other.fingerprint());
    }
}

//! From where a server is reached: loopback, or an address with TLS and a password.

use crate::password::UiPassword;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// The reason why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsFilesError {
    /// The file of the certificate cannot be used.
    #[error("the certificate cannot be used: {0}")]
    Certificate(String),
    /// The file of the key cannot be used.
    #[error("the private key cannot be used: {0}")]
    Key(String),
    /// They do not belong together.
    #[error("the certificate and the private key cannot be used together: {0}")]
    Pair(String),
}

/// An address beyond loopback, with what it takes.
pub struct RemoteReach {
    /// The address to listen at.
    pub address: IpAddr,
    /// The names by which browsers ask for it, beside the address.
    pub names: Vec<String>,
    /// The password that visitors must know.
    pub password: UiPassword,
    /// TLS.
    pub tls: Arc<ServerConfig>,
}

/// TLS with the certificate and the private key of these files, PEM.
///
/// # Errors
/// When they cannot be read, or do not belong together.
pub fn tls_of_files(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsFilesError> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| TlsFilesError::Certificate(error.to_string()))?;
    if chain.is_empty() {
        let why = "the file has none".to_owned();
        return Err(TlsFilesError::Certificate(why));
    }
    let key =
        PrivateKeyDer::from_pem_file(key).map_err(|error| TlsFilesError::Key(error.to_string()))?;
    let pair = |error: rustls::Error| TlsFilesError::Pair(error.to_string());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(pair)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(pair)?;
    Ok(Arc::new(config))
}

//! The end of an encrypted connection that this is.

use super::certificate::{CertificateFingerprint, SessionCertificate};
use super::failure::TransferFailure;
use super::mover_terms::MoverTerms;

/// The end of an encrypted connection that this is: the client of the session is its client, whoever sends the content.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SecureEnd<'a> {
    /// The client, which trusts this certificate alone.
    Client(CertificateFingerprint),
    /// The server, with the certificate of the session.
    Server(&'a SessionCertificate),
}

impl<'a> SecureEnd<'a> {
    /// This end of a session.
    ///
    /// # Errors
    /// When the server has announced no certificate, or a fingerprint that is none.
    pub(crate) fn from_terms(terms: &MoverTerms<'a>) -> Result<Self, TransferFailure> {
        let missing = || TransferFailure::Connection("the server announced no certificate".into());
        if !terms.is_client {
            return terms.certificate.map(Self::Server).ok_or_else(missing);
        }
        let announced = terms.plan.certificate.as_deref().ok_or_else(missing)?;
        announced.parse().map(Self::Client).map_err(|_| missing())
    }
}

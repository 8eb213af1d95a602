//! TLS handshakes alone: a connection that carries one request and its answer, to learn what the handshake costs.

use crate::certificate::{CertificateFingerprint, SessionCertificate};
use crate::failure::TransferFailure;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConfig, Resumption};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ServerConfig;
use rustls::{
    ClientConnection, DigitallySignedStruct, Error, PeerIncompatible, ServerConnection,
    SignatureScheme, Stream,
};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// The name in the certificate of a server of caudal.
const SESSION_NAME: &str = crate::certificate::SERVER_NAME;

/// The client's end of connections whose TLS handshakes are measured. None of them resumes an earlier session.
#[derive(Debug, Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsClient {
    /// A client of a server of caudal, which has announced the fingerprint of its certificate.
    ///
    /// # Errors
    /// The fingerprint is none, or TLS 1.3 cannot be set up here.
    pub fn of_session(fingerprint: &str) -> Result<Self, TransferFailure> {
        let missing = || TransferFailure::Connection("the server announced no certificate".into());
        let fingerprint: CertificateFingerprint = fingerprint.parse().map_err(|_| missing())?;
        Ok(Self {
            config: Arc::new(fingerprint.client_config()?),
            name: server_name(SESSION_NAME)?,
        })
    }

    /// A client of any server by the name or address `host`, whose certificate is not checked: only times are taken from it.
    ///
    /// # Errors
    /// The name cannot be one in a certificate, or TLS 1.3 cannot be set up here.
    pub fn unverified(host: &str) -> Result<Self, TransferFailure> {
        let provider = Arc::new(ring::default_provider());
        let verifier = AnyCertificate {
            algorithms: provider.signature_verification_algorithms,
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|cause| setup_failure(&cause))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.resumption = Resumption::disabled();
        Ok(Self {
            config: Arc::new(config),
            name: server_name(host)?,
        })
    }

    /// Makes the handshake over a connected socket: the connection.
    ///
    /// # Errors
    /// The socket's, or that the handshake failed ([`io::ErrorKind::InvalidData`]).
    pub fn shake_hands<S: Read + Write>(&self, socket: S) -> io::Result<TlsRequest<S>> {
        let tls = ClientConnection::new(Arc::clone(&self.config), self.name.clone())
            .map_err(io::Error::other)?;
        let mut connection = TlsRequest { tls, socket };
        while connection.tls.is_handshaking() {
            connection.tls.complete_io(&mut connection.socket)?;
        }
        Ok(connection)
    }
}

/// A connection on which a client makes its request.
pub struct TlsRequest<S> {
    tls: ClientConnection,
    socket: S,
}

impl<S: Read + Write> TlsRequest<S> {
    /// Sends the request.
    ///
    /// # Errors
    /// The socket's.
    pub fn send(&mut self, request: &[u8]) -> io::Result<()> {
        let mut stream = Stream::new(&mut self.tls, &mut self.socket);
        stream.write_all(request)?;
        stream.flush()
    }

    /// Reads the whole answer.
    ///
    /// # Errors
    /// The socket's, or that it ended before.
    pub fn receive(&mut self, answer: &mut [u8]) -> io::Result<()> {
        Stream::new(&mut self.tls, &mut self.socket).read_exact(answer)
    }

    /// Tells the server that nothing follows.
    pub fn close(&mut self) {
        self.tls.send_close_notify();
        let _ = self.tls.write_tls(&mut self.socket);
    }
}

/// The server's end of such connections.
#[derive(Debug, Clone)]
pub struct TlsAnswerer {
    config: Arc<ServerConfig>,
}

impl TlsAnswerer {
    /// A server with the certificate of a session.
    ///
    /// # Errors
    /// The certificate cannot be used.
    pub fn new(certificate: &SessionCertificate) -> Result<Self, TransferFailure> {
        Ok(Self {
            config: Arc::new(certificate.server_config()?),
        })
    }

    /// Makes the handshake, reads a request of the size of `request` and answers it.
    ///
    /// # Errors
    /// The socket's, or that the handshake failed.
    pub fn answer<S: Read + Write>(
        &self,
        mut socket: S,
        request: &mut [u8],
        answer: &[u8],
    ) -> io::Result<()> {
        let mut tls = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        let mut stream = Stream::new(&mut tls, &mut socket);
        stream.read_exact(request)?;
        stream.write_all(answer)?;
        stream.flush()?;
        tls.send_close_notify();
        tls.write_tls(&mut socket).map(drop)
    }
}

/// Accepts every certificate.
#[derive(Debug)]
struct AnyCertificate {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
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

fn server_name(host: &str) -> Result<ServerName<'static>, TransferFailure> {
    ServerName::try_from(host.to_owned()).map_err(|_| {
        TransferFailure::Connection(format!("{host} cannot be the name of a TLS server"))
    })
}

fn setup_failure(cause: &Error) -> TransferFailure {
    TransferFailure::Connection(format!("cannot prepare TLS: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    /// The answer that a client gets to a request of four bytes.
    fn answered(client: &TlsClient, certificate: &SessionCertificate) -> io::Result<[u8; 3]> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let answerer = TlsAnswerer::new(certificate).map_err(io::Error::other)?;
        let address = listener.local_addr()?;
        let server = thread::spawn(move || {
            let (socket, _) = listener.accept()?;
            let mut request = [0; 4];
            answerer.answer(&socket, &mut request, b"yes")?;
            Ok::<_, io::Error>(request)
        });
        let socket = TcpStream::connect(address)?;
        let outcome = client.shake_hands(&socket).and_then(|mut tls| {
            tls.send(b"well")?;
            let mut answer = [0; 3];
            tls.receive(&mut answer)?;
            tls.close();
            Ok(answer)
        });
        drop(socket);
        let request = server.join().unwrap();
        if outcome.is_ok() {
            assert_eq!(&request?, b"well");
        }
        outcome
    }

    #[test]
    fn a_request_is_answered_by_the_server_that_announced_its_certificate() {
        let certificate = SessionCertificate::generate().unwrap();
        let client = TlsClient::of_session(&certificate.fingerprint().to_string()).unwrap();
        assert_eq!(answered(&client, &certificate).unwrap(), *b"yes");
        let other = SessionCertificate::generate().unwrap();
        assert!(answered(&client, &other).is_err());
    }

    #[test]
    fn a_client_that_only_measures_accepts_any_certificate() {
        let certificate = SessionCertificate::generate().unwrap();
        let client = TlsClient::unverified("localhost").unwrap();
        assert_eq!(answered(&client, &certificate).unwrap(), *b"yes");
        assert!(TlsClient::unverified("no name").is_err());
        assert!(TlsClient::of_session("12").is_err());
    }
}

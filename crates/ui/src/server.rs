//! The server: on loopback, for one user.

use crate::access::{Access, UiToken, allowed_hosts};
use crate::api::router;
use crate::job::Jobs;
use crate::reach::RemoteReach;
use crate::state::{PasswordLogin, UiOptions, UiState};
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// Maximum number of connections at once: other users of this machine can connect too, and are not to use up its descriptors.
const MAX_CONNECTIONS: usize = 200;
/// The time in which a connection has to ask for something; those that do not give way.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// The port of HTTPS, which browsers leave out.
const HTTPS_PORT: u16 = 443;
/// The time between two looks whether the server is to stop.
const LOOK: Duration = Duration::from_millis(100);
/// The time that tests have to end when it is stopped.
const GRACE: Duration = Duration::from_secs(15);

/// A server that listens and does not answer yet.
pub struct UiServer {
    listeners: Vec<std::net::TcpListener>,
    port: u16,
    token: UiToken,
    options: UiOptions,
    remote: Option<RemoteReach>,
}

impl UiServer {
    /// Listens at this port of loopback, over IPv4 and, where there is any, IPv6; 0 lets the kernel choose.
    ///
    /// # Errors
    /// When the port is not available.
    pub fn bind(port: u16, token: UiToken, options: UiOptions) -> io::Result<Self> {
        let v4 =
            std::net::TcpListener::bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))?;
        let port = v4.local_addr()?.port();
        let v6 =
            std::net::TcpListener::bind(SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), port));
        let listeners: Vec<_> = [Some(v4), v6.ok()].into_iter().flatten().collect();
        for listener in &listeners {
            listener.set_nonblocking(true)?;
        }
        Ok(Self {
            listeners,
            port,
            token,
            options,
            remote: None,
        })
    }

    /// Listens at an address beyond loopback, with TLS and a password.
    ///
    /// # Errors
    /// When the port is not available.
    pub fn bind_remote(
        port: u16,
        token: UiToken,
        options: UiOptions,
        remote: RemoteReach,
    ) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(SocketAddr::new(remote.address, port))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok(Self {
            listeners: vec![listener],
            port,
            token,
            options,
            remote: Some(remote),
        })
    }

    /// The address to open, which has the token where no server is told it.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/#t={}", self.port, self.token.as_str())
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Answers until `is_over` says so; what runs then is asked to end, and waited for.
    ///
    /// # Errors
    /// When the kernel grants no threads.
    pub fn run(self, is_over: impl Fn() -> bool) -> io::Result<()> {
        let jobs = Arc::<Jobs>::default();
        let mut hosts = allowed_hosts(self.port);
        let (login, tls) = match self.remote {
            None => (None, None),
            Some(remote) => {
                hosts.extend(remote_hosts(&remote, self.port));
                let login = PasswordLogin {
                    password: remote.password,
                    token: self.token.clone(),
                };
                (Some(Arc::new(login)), Some(TlsAcceptor::from(remote.tls)))
            }
        };
        let state = UiState {
            login,
            options: Arc::new(self.options),
            jobs: Arc::clone(&jobs),
            scratch: Arc::default(),
        };
        let access = Access::new(self.token, hosts);
        let router = router(state, access);
        // On this thread, which lives as long as the server: what it starts ends with it.
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(16)
            .build()?;
        runtime.block_on(async {
            let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
            for listener in self.listeners {
                let listener = TcpListener::from_std(listener)?;
                let tls = tls.clone();
                tokio::spawn(accept(listener, router.clone(), Arc::clone(&permits), tls));
            }
            while !is_over() {
                tokio::time::sleep(LOOK).await;
            }
            jobs.stop_all();
            let until = tokio::time::Instant::now() + GRACE;
            while jobs.is_any_running() && tokio::time::Instant::now() < until {
                tokio::time::sleep(LOOK).await;
            }
            Ok(())
        })
    }
}

/// The address that a request came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BrowserAddress(pub(crate) IpAddr);

/// Accepts connections as far as there are permits, and answers on each.
async fn accept(
    listener: TcpListener,
    router: Router,
    permits: Arc<Semaphore>,
    tls: Option<TlsAcceptor>,
) {
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let (stream, from) = match listener.accept().await {
            Ok((stream, from)) => (stream, BrowserAddress(from.ip())),
            Err(_) => {
                // Out of descriptors at worst.
                tokio::time::sleep(LOOK).await;
                continue;
            }
        };
        let router = router.clone().layer(Extension(from));
        let tls = tls.clone();
        tokio::spawn(async move {
            match tls {
                None => answer(stream, router).await,
                Some(tls) => {
                    let handshake = tokio::time::timeout(HEAD_TIME, tls.accept(stream));
                    if let Ok(Ok(stream)) = handshake.await {
                        answer(stream, router).await;
                    }
                }
            }
            drop(permit);
        });
    }
}

/// Answers the requests of a connection.
async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router) {
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}

/// The names by which a server beyond loopback may be asked for, with its port or, at that of HTTPS, without.
fn remote_hosts(remote: &RemoteReach, port: u16) -> Vec<String> {
    let own = match remote.address {
        IpAddr::V6(address) => format!("[{address}]"),
        IpAddr::V4(address) => address.to_string(),
    };
    let names = remote.names.iter().chain([&own]);
    names
        .flat_map(|name| {
            let plain = (port == HTTPS_PORT).then(|| name.clone());
            plain.into_iter().chain([format!("{name}:{port}")])
        })
        .collect()
}

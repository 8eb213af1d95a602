//! The flags of `caudal ui`.

use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:\n  \
    caudal ui                       open the address it prints\n  \
    caudal ui -p 8080\n  \
    ssh -L 8080:127.0.0.1:8080 far.example caudal ui -p 8080    of another machine";

/// `caudal ui`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct UiArgs {
    /// The port on 127.0.0.1 and ::1; 0 takes a free one
    #[arg(
        short,
        long,
        value_name = "PORT",
        default_value_t = 5280,
        allow_negative_numbers = true
    )]
    pub port: u16,
    /// Listen at this address beyond loopback instead: takes a password and TLS
    #[arg(
        long,
        value_name = "ADDRESS",
        requires_all = ["password_file", "tls_cert", "tls_key"],
        help_heading = "From elsewhere"
    )]
    pub listen: Option<IpAddr>,
    /// Answer to this name too (may be given several times, or with commas)
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        requires = "listen",
        help_heading = "From elsewhere"
    )]
    pub host: Vec<String>,
    /// The password of visitors: a file with the line that --make-password prints, for its owner's eyes
    #[arg(
        long,
        value_name = "FILE",
        requires = "listen",
        help_heading = "From elsewhere"
    )]
    pub password_file: Option<PathBuf>,
    /// The certificate, with those above it, PEM
    #[arg(
        long,
        value_name = "FILE",
        requires = "listen",
        help_heading = "From elsewhere"
    )]
    pub tls_cert: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(
        long,
        value_name = "FILE",
        requires = "listen",
        help_heading = "From elsewhere"
    )]
    pub tls_key: Option<PathBuf>,
    /// Read a password from standard input and print the line of a password file
    #[arg(long, exclusive = true, help_heading = "From elsewhere")]
    pub make_password: bool,
    /// The store of what is recorded and shown [default: CAUDAL_STORE, or caudal/store.db in the user's data directory]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
}

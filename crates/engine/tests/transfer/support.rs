//! What the tests share: directories, servers, plans.

use caudal_core::event::Event;
use caudal_core::plan::{
    BULK_WRITE_BYTES, Direction, FileIdentity, Plan, Rate, TcpTransferSettings, TransferContent,
    TransferPlan, TransferSink, TransferVia,
};
use caudal_core::units::{BitRate, ByteCount};
use caudal_engine::peer::{NativePeer, Peer};
use caudal_engine::server::SessionEventSender;
use caudal_engine::{
    LocalBinding, LocalOptions, PreparedContent, RunError, ServedDirectory, Server, ServerOptions,
    StoreDirectory, Target, TransferLocalOptions, TransferOutcome,
};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A directory for a test, removed when it ends.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let test = std::thread::current().name().unwrap().replace(':', "-");
        let path =
            std::env::temp_dir().join(format!("caudal-{}-{test}-{name}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap()
    }

    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub fn store(&self) -> StoreDirectory {
        StoreDirectory::open(&self.0).unwrap()
    }

    pub fn served(&self) -> ServedDirectory {
        ServedDirectory::open(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn server(transfer: TransferLocalOptions) -> Server {
    let options = ServerOptions {
        transfer,
        ..ServerOptions::default()
    };
    server_with(options)
}

pub fn server_with(options: ServerOptions) -> Server {
    let bind = vec![std::net::IpAddr::from([127, 0, 0, 1]).into()];
    let options = ServerOptions {
        bind,
        port: 0,
        ..options
    };
    Server::start(options, SessionEventSender::default()).unwrap()
}

pub fn connect(address: SocketAddr) -> NativePeer {
    let target = Target {
        host: address.ip().to_string(),
        port: address.port(),
        family: None,
        binding: LocalBinding::default(),
        token: None,
    };
    NativePeer::connect(&target, "test", None).unwrap()
}

pub fn tcp() -> TcpTransferSettings {
    TcpTransferSettings {
        write_bytes: BULK_WRITE_BYTES,
        mss: None,
        no_delay: false,
        sendfile: false,
    }
}

pub fn plan(direction: Direction, content: TransferContent, sink: TransferSink) -> TransferPlan {
    TransferPlan {
        via: TransferVia::Tcp(tcp()),
        direction,
        content,
        sink,
        resume_from: ByteCount::new(0),
        resume: false,
        overwrite: false,
        preserve: false,
        sparse: false,
        rate: Rate::Max,
        congestion: None,
        dscp: None,
        interval: Duration::from_millis(50),
        same_machine: true,
        certificate: None,
    }
}

pub fn transfer(
    server: &Server,
    plan: TransferPlan,
    files: TransferLocalOptions,
) -> Result<TransferOutcome, RunError> {
    transfer_at(server.local(), plan, files, &mut |_| {})
}

pub fn transfer_at(
    address: SocketAddr,
    plan: TransferPlan,
    files: TransferLocalOptions,
    events: &mut dyn FnMut(Event),
) -> Result<TransferOutcome, RunError> {
    let options = LocalOptions {
        transfer: files,
        ..LocalOptions::default()
    };
    let outcome = connect(address).run(&Plan::Transfer(plan), &options, events)?;
    Ok(outcome.into_transfer().unwrap())
}

pub fn named(name: &str) -> TransferContent {
    TransferContent::File(FileIdentity {
        name: name.to_owned(),
        bytes: None,
        modified_ns: None,
        permissions: None,
    })
}

pub fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at / 7 % 251) as u8).collect()
}

pub fn generated(bytes: u64) -> TransferContent {
    TransferContent::Generated {
        bytes: ByteCount::new(bytes),
        seed: 7,
        from_file: false,
    }
}

pub fn refusal(server: &Server, plan: TransferPlan, files: TransferLocalOptions) -> String {
    let message = transfer(server, plan, files).unwrap_err().to_string();
    assert!(!message.contains('\n'), "{message}");
    message
}

/// A plan to send a file of 8 MiB and some bytes at a rate at which it takes a second.
pub fn slow_upload(scratch: &Scratch, name: &str) -> (TransferPlan, TransferLocalOptions) {
    let file = PreparedContent::file(&scratch.path().join(name), name).unwrap();
    let plan = TransferPlan {
        rate: Rate::Limit(BitRate::from_bps(80_000_000)),
        interval: Duration::from_millis(10),
        ..plan(Direction::Up, file.content(), TransferSink::File)
    };
    let files = TransferLocalOptions {
        content: Some(file),
        ..TransferLocalOptions::default()
    };
    (plan, files)
}

/// Carries out a transfer until half of it was moved: then `at_half` is called.
pub fn interrupted_at_half(
    server: &Server,
    plan: TransferPlan,
    files: TransferLocalOptions,
    at_half: impl Fn(&LocalOptions),
) -> TransferOutcome {
    let options = LocalOptions {
        transfer: files,
        ..LocalOptions::default()
    };
    let outcome = connect(server.local()).run(&Plan::Transfer(plan), &options, &mut |event| {
        if let Event::Transfer(progress) = event
            && progress.bytes > 4 << 20
        {
            at_half(&options);
        }
    });
    outcome.unwrap().into_transfer().unwrap()
}

//! A client and a server with a router between them, in namespaces, over virtual Ethernet pairs.

use crate::support::network::inside;
use crate::support::{Ended, SOON, Serve, run};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The server's address.
pub const ROUTED_SERVER: &str = "10.78.2.2";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// The namespaces; they are deleted when dropped.
pub struct RoutedNetwork {
    pub client: String,
    pub router: String,
    pub server: String,
}

impl RoutedNetwork {
    /// Client and router have segmentation offload; from the router on to the server every frame is one segment, and so it is back.
    pub fn build() -> Self {
        let nth = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = |end: &str| format!("caudal-test-{}-routed{nth}{end}", std::process::id());
        let network = Self {
            client: name("c"),
            router: name("r"),
            server: name("s"),
        };
        for space in network.spaces() {
            ip(&format!("netns add {space}"));
            set(space, "net.ipv6.conf.all.disable_ipv6=1");
        }
        let (client, router, server) = (&network.client, &network.router, &network.server);
        for (end, near, net) in [(client, "r1", 1), (server, "r2", 2)] {
            ip(&format!(
                "link add name v0 netns {end} type veth peer name {near} netns {router}"
            ));
            ip(&format!("-n {end} addr add 10.78.{net}.2/24 dev v0"));
            ip(&format!("-n {router} addr add 10.78.{net}.1/24 dev {near}"));
            ip(&format!("-n {end} link set v0 up"));
            ip(&format!("-n {router} link set {near} up"));
            ip(&format!("-n {end} route add default via 10.78.{net}.1"));
        }
        set(router, "net.ipv4.ip_forward=1");
        for (space, device) in [(router, "r2"), (server, "v0")] {
            let words = format!("-K {device} tso off gso off gro off");
            let mut command = inside(space, "ethtool");
            run(command.args(words.split_whitespace()), SOON).done();
        }
        network
    }

    fn spaces(&self) -> [&String; 3] {
        [&self.client, &self.router, &self.server]
    }

    pub fn serve(&self) -> Serve {
        Serve::of(inside(&self.server, env!("CARGO_BIN_EXE_caudal")).args(["serve", "-p", "5201"]))
    }

    pub fn run_client(&self, words: &str) -> Ended {
        let mut command = inside(&self.client, env!("CARGO_BIN_EXE_caudal"));
        run(command.args(words.split_whitespace()), SOON).done()
    }

    /// Has the router replace the client's address by its own.
    pub fn masquerade(&self) {
        for words in [
            "add table ip nat",
            "add chain ip nat after { type nat hook postrouting priority 100 ; }",
            "add rule ip nat after oifname r2 masquerade",
        ] {
            run(inside(&self.router, "nft").arg(words), SOON).done();
        }
    }
}

impl Drop for RoutedNetwork {
    fn drop(&mut self) {
        for space in self.spaces() {
            let _ = Command::new("ip").args(["netns", "del", space]).output();
        }
    }
}

/// What stands in the way of translating addresses; `None` for nothing.
pub fn missing_translation() -> Option<String> {
    let rules = "add table ip n; add chain ip n c { type nat hook postrouting priority 100 ; }; add rule ip n c masquerade";
    let probe = Command::new("unshare").args(["-n", "nft", rules]).output();
    let has = probe.is_ok_and(|probe| probe.status.success());
    (!has).then(|| "this kernel translates no addresses".to_owned())
}

fn ip(words: &str) {
    run(Command::new("ip").args(words.split_whitespace()), SOON).done();
}

fn set(space: &str, value: &str) {
    run(inside(space, "sysctl").args(["-q", "-w", value]), SOON).done();
}

//! The window that a path needs, from its round-trip time, and what the kernels at both ends allow.

use super::conditions::RttConditions;
use caudal_analysis::framing::Framing;
use caudal_analysis::link::{link_mtu, link_rate, timestamps};
use caudal_analysis::window::{PathRate, WindowPath, next_step_of_settings};
use caudal_core::plan::Direction;
use caudal_core::window::{BaselineRtt, BaselineSource, NextStep, WindowReport};

/// The window of each direction, up first; none on a loopback, which has no path, and where TCP is ended in the middle.
pub(super) fn idle_windows(measured: &RttConditions<'_>) -> [Option<WindowReport>; 2] {
    [Direction::Up, Direction::Down].map(|direction| idle_window(measured, direction))
}

fn idle_window(measured: &RttConditions<'_>, direction: Direction) -> Option<WindowReport> {
    let peer = measured.peer;
    // The path between two connections is not that of either.
    if peer.is_loopback() || peer.tcp_proxy.is_some() {
        return None;
    }
    let sizes = measured.sizes.iter();
    let fastest_us = sizes.filter_map(|size| Some(size.pooled.rtt_us.as_ref()?.min));
    let baseline = BaselineRtt::lowest(&[
        (BaselineSource::Idle, peer.idle_rtt_us),
        (BaselineSource::Messages, fastest_us.reduce(f64::min)),
        (BaselineSource::Handshake, Some(peer.connect_us())),
    ])?;
    let (client, server) = (&peer.client, &peer.server);
    let known = link_rate(measured.link_rate, client, server, false, direction);
    let framing = Framing {
        mtu: link_mtu(client, server),
        ip: peer.ip_version(),
        timestamps: timestamps(client),
        ..Framing::default()
    };
    let (sender, receiver) = match direction {
        Direction::Up => (client, server),
        Direction::Down => (server, client),
    };
    let path = WindowPath {
        baseline,
        rate: known
            .ok()
            .map(|(rate, source)| PathRate::of_link(rate, source)),
        mss: Some(framing.tcp_payload_per_frame()),
        sender,
        receiver,
    };
    Some(path.idle_report())
}

/// The next step of a direction.
pub(super) fn next_step(window: &WindowReport) -> NextStep {
    next_step_of_settings(window).into()
}

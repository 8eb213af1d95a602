//! The settings of a kernel that bound a window.

use super::need::{MAX_SCALED_WINDOW, MAX_UNSCALED_WINDOW};
use caudal_core::host::Host;
use caudal_core::text::ExternalText;
use caudal_core::units::ByteCount;

/// The settings of a kernel that bound a window, or decide how soon it is full again. Both ends of a test record them.
pub const WINDOW_SYSCTLS: [&str; 13] = [
    RMEM_MAX,
    WMEM_MAX,
    TCP_RMEM,
    TCP_WMEM,
    WINDOW_SCALING,
    MODERATE_RCVBUF,
    ADV_WIN_SCALE,
    TIMESTAMPS,
    SACK,
    CONGESTION_CONTROL,
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_no_metrics_save",
];

pub(super) const RMEM_MAX: &str = "net.core.rmem_max";
pub(super) const WMEM_MAX: &str = "net.core.wmem_max";
pub(super) const TCP_RMEM: &str = "net.ipv4.tcp_rmem";
pub(super) const TCP_WMEM: &str = "net.ipv4.tcp_wmem";
pub(super) const WINDOW_SCALING: &str = "net.ipv4.tcp_window_scaling";
pub(super) const MODERATE_RCVBUF: &str = "net.ipv4.tcp_moderate_rcvbuf";
const ADV_WIN_SCALE: &str = "net.ipv4.tcp_adv_win_scale";
pub(super) const TIMESTAMPS: &str = "net.ipv4.tcp_timestamps";
pub(super) const SACK: &str = "net.ipv4.tcp_sack";
pub(super) const CONGESTION_CONTROL: &str = "net.ipv4.tcp_congestion_control";

/// The first release of Linux that measures the share of a receive buffer that is payload and ignores `tcp_adv_win_scale`.
/// Source: Documentation/networking/ip-sysctl.rst, `tcp_adv_win_scale`.
const MEASURED_SHARE_SINCE: (u32, u32) = (6, 6);
/// The bytes of send buffer that the kernel sets aside for a byte of the congestion window. Source: `tcp_sndbuf_expand()`,
/// net/ipv4/tcp_input.c, where the factor covers the copies kept for fast recovery.
const SEND_BUFFER_FACTOR: u64 = 2;

/// The three values of `tcp_rmem` and `tcp_wmem`, bytes. Source: tcp(7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferRange {
    /// What a socket keeps under memory pressure.
    pub min: u64,
    /// What a socket begins with.
    pub default: u64,
    /// What the kernel tunes it to at most.
    pub max: u64,
}

/// The share of a receive buffer that the kernel advertises as a window; the rest is its own overhead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PayloadShare {
    /// The part that is payload.
    of: u128,
    /// The power of two that is the whole, as a shift.
    shift: u32,
}

/// The settings of one kernel that bound a window; what it did not report is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowSettings {
    /// `net.core.rmem_max`: the largest receive buffer that a program may set, bytes.
    pub rmem_max: Option<u64>,
    /// `net.core.wmem_max`: the same of the send buffer, bytes.
    pub wmem_max: Option<u64>,
    /// `net.ipv4.tcp_rmem`: the receive buffers that the kernel tunes.
    pub rmem: Option<BufferRange>,
    /// `net.ipv4.tcp_wmem`: the same of send buffers.
    pub wmem: Option<BufferRange>,
    /// `net.ipv4.tcp_window_scaling`: whether windows above 65 535 bytes are possible.
    pub window_scaling: Option<bool>,
    /// `net.ipv4.tcp_moderate_rcvbuf`: whether the kernel tunes receive buffers.
    pub moderate_rcvbuf: Option<bool>,
    /// `net.ipv4.tcp_timestamps`: whether segments carry timestamps.
    pub timestamps: Option<bool>,
    /// `net.ipv4.tcp_sack`: whether acknowledgements are selective.
    pub sack: Option<bool>,
    /// `net.ipv4.tcp_congestion_control`: the congestion control of connections that do not choose one.
    pub congestion_control: Option<ExternalText>,
    share: PayloadShare,
}

impl WindowSettings {
    /// The settings that a host reports.
    #[must_use]
    pub fn of_host(host: &Host) -> Self {
        let text = |name: &str| host.sysctls.get(name).map(ExternalText::as_received);
        let number = |name: &str| text(name)?.trim().parse::<u64>().ok();
        let is_on = |name: &str| Some(number(name)? > 0);
        Self {
            rmem_max: number(RMEM_MAX),
            wmem_max: number(WMEM_MAX),
            rmem: text(TCP_RMEM).and_then(BufferRange::parse),
            wmem: text(TCP_WMEM).and_then(BufferRange::parse),
            window_scaling: is_on(WINDOW_SCALING),
            moderate_rcvbuf: is_on(MODERATE_RCVBUF),
            timestamps: is_on(TIMESTAMPS),
            sack: is_on(SACK),
            congestion_control: host.sysctls.get(CONGESTION_CONTROL).cloned(),
            share: PayloadShare::of_host(
                host.kernel.as_received(),
                text(ADV_WIN_SCALE).and_then(|scale| scale.trim().parse().ok()),
            ),
        }
    }

    /// About the window that a receive buffer of this size advertises, as the kernel accounts buffers: twice what a program sets.
    ///
    /// Half of it, or what `tcp_adv_win_scale` says before Linux 6.6. Later kernels begin with half and go on with the share they measure
    /// in what they receive, 0.3 to 0.6 by device and packet size. Source: `tcp_win_from_space()`, include/net/tcp.h.
    #[must_use]
    pub fn window_of_receive_buffer(&self, buffer: ByteCount) -> ByteCount {
        let payload = (u128::from(buffer.get()) * self.share.of) >> self.share.shift;
        ByteCount::new(u64::try_from(payload).unwrap_or(u64::MAX))
    }

    /// The receive buffer, as the kernel accounts it, that advertises about this window.
    #[must_use]
    pub fn receive_buffer_of_window(&self, window: ByteCount) -> ByteCount {
        let space = (u128::from(window.get()) << self.share.shift).div_ceil(self.share.of);
        ByteCount::new(u64::try_from(space).unwrap_or(u64::MAX))
    }

    /// About the largest window that the kernel advertises by its own tuning; `None` where that is not known.
    #[must_use]
    pub fn max_receive_window(&self) -> Option<ByteCount> {
        let rmem = self.rmem?;
        let buffer = match self.moderate_rcvbuf? {
            true => rmem.max,
            false => rmem.default,
        };
        let window = self.window_of_receive_buffer(ByteCount::new(buffer));
        Some(self.scaled(window))
    }

    /// About the largest window that the kernel's own tuning keeps in a send buffer; `None` where that is not known.
    #[must_use]
    pub fn max_send_window(&self) -> Option<ByteCount> {
        let window = ByteCount::new(self.wmem?.max / SEND_BUFFER_FACTOR);
        Some(self.scaled(window))
    }

    fn scaled(&self, window: ByteCount) -> ByteCount {
        window.min(match self.window_scaling {
            Some(false) => MAX_UNSCALED_WINDOW,
            _ => MAX_SCALED_WINDOW,
        })
    }
}

/// The send buffer, as the kernel accounts it, that holds a window.
pub(super) const fn send_buffer_of_window(window: ByteCount) -> ByteCount {
    ByteCount::new(window.get().saturating_mul(SEND_BUFFER_FACTOR))
}

impl BufferRange {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        let range = Self {
            min: next()?,
            default: next()?,
            max: next()?,
        };
        numbers.next().is_none().then_some(range)
    }
}

impl PayloadShare {
    const HALF: Self = Self { of: 1, shift: 1 };

    fn of_host(kernel: &str, adv_win_scale: Option<i32>) -> Self {
        let mut numbers = kernel.split(['.', '-']).map(str::parse::<u32>);
        let release = (numbers.next(), numbers.next());
        let (Some(scale), (Some(Ok(major)), Some(Ok(minor)))) = (adv_win_scale, release) else {
            return Self::HALF;
        };
        if (major, minor) >= MEASURED_SHARE_SINCE {
            return Self::HALF;
        }
        // The kernel refuses scales beyond 31 (`tcp_adv_win_scale_min` and _max, net/ipv4/sysctl_net_ipv4.c).
        let shift = scale.unsigned_abs().min(31);
        Self {
            of: if scale > 0 { (1 << shift) - 1 } else { 1 },
            shift,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host(kernel: &str, sysctls: &[(&str, &str)]) -> Host {
        let sysctls = sysctls.iter();
        Host {
            kernel: kernel.into(),
            sysctls: sysctls
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
            ..Host::default()
        }
    }

    /// The settings of a kernel as it is shipped.
    const USUAL: [(&str, &str); 4] = [
        (TCP_RMEM, "4096\t131072\t6291456"),
        (TCP_WMEM, "4096\t16384\t4194304"),
        (WINDOW_SCALING, "1"),
        (MODERATE_RCVBUF, "1"),
    ];

    #[test]
    fn the_usual_kernel_allows_windows_of_3_and_2_mib() {
        let settings = WindowSettings::of_host(&host("6.18.44", &USUAL));
        assert_eq!(settings.rmem.unwrap().default, 131_072);
        assert_eq!(settings.max_receive_window(), Some(ByteCount::new(3 << 20)));
        assert_eq!(settings.max_send_window(), Some(ByteCount::new(2 << 20)));
    }

    #[test]
    fn without_scaling_or_tuning_a_window_stays_small() {
        let with = |name: &str, value: &str| {
            let mut host = host("6.18.44", &USUAL);
            host.sysctls.insert(name.into(), value.into());
            WindowSettings::of_host(&host)
        };
        let unscaled = with(WINDOW_SCALING, "0");
        assert_eq!(unscaled.max_receive_window(), Some(MAX_UNSCALED_WINDOW));
        assert_eq!(unscaled.max_send_window(), Some(MAX_UNSCALED_WINDOW));
        let untuned = with(MODERATE_RCVBUF, "0");
        assert_eq!(untuned.max_receive_window(), Some(ByteCount::new(65_536)));
        let huge = with(TCP_RMEM, "1 2 18446744073709551615");
        assert_eq!(huge.max_receive_window(), Some(MAX_SCALED_WINDOW));
    }

    #[test]
    fn what_is_missing_or_no_number_is_unknown() {
        let nothing = WindowSettings::of_host(&Host::default());
        assert_eq!(nothing.max_receive_window(), None);
        assert_eq!((nothing.rmem_max, nothing.window_scaling), (None, None));
        for text in ["", "4096", "4096 131072", "1 2 3 4", "a b c", "1 2 -3"] {
            let settings = WindowSettings::of_host(&host("6.18", &[(TCP_RMEM, text)]));
            assert_eq!(settings.rmem, None, "{text:?}");
        }
    }

    #[test]
    fn older_kernels_divide_the_buffer_by_tcp_adv_win_scale() {
        for (kernel, scale, window) in [
            ("5.15.0-91-generic", "1", 500),
            ("5.15.0", "2", 750),
            ("5.15.0", "-2", 250),
            ("5.15.0", "0", 1000),
            ("5.15.0", "junk", 500),
            ("6.6.1", "-2", 500),
            ("", "-2", 500),
        ] {
            let settings = WindowSettings::of_host(&host(kernel, &[(ADV_WIN_SCALE, scale)]));
            let advertised = settings.window_of_receive_buffer(ByteCount::new(1000));
            assert_eq!(advertised.get(), window, "{kernel} {scale}");
            let buffer = settings.receive_buffer_of_window(ByteCount::new(window));
            assert_eq!(buffer.get(), 1000, "{kernel} {scale}");
        }
    }

    proptest! {
        #[test]
        fn the_buffer_of_a_window_advertises_it(window: u32, scale in -40_i32..40, sixth in 0_u32..2) {
            let kernel = format!("{}.9.1", 5 + sixth);
            let settings = WindowSettings::of_host(&host(&kernel, &[(ADV_WIN_SCALE, &scale.to_string())]));
            let window = ByteCount::new(u64::from(window));
            let buffer = settings.receive_buffer_of_window(window);
            prop_assert!(settings.window_of_receive_buffer(buffer) >= window);
        }
    }
}

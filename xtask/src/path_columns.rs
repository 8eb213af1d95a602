//! The columns of `caudal path --csv`, described.

/// The unit and meaning of a column of `caudal path`; `None` for one without a description.
pub fn path_column(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "ttl" => ("", "the TTL at which packets end at the hop, from 1"),
        "address" => (
            "",
            "the address that answers, the latest where it changed; empty where nothing answers",
        ),
        "name" => ("", "the name of that address"),
        "answering" => (
            "",
            "`answers`, `rate_limited`, `silent` (hops beyond it answer) or `nothing_from_here`",
        ),
        "other_addresses" => (
            "",
            "the addresses that other flows met there, with blanks between them",
        ),
        "probes" => (
            "probes",
            "sent to it, without those that were too large for the path",
        ),
        "unanswered" => ("probes", "of these, not answered in time"),
        "loss" => (
            "share, 0 to 1",
            "`unanswered` of `probes`, where it answers; at a limited rate it is the limit's, not the path's",
        ),
        "answer_interval_ms" => (
            "ms",
            "the time between two probes that it answered reliably, where its rate is limited",
        ),
        "rtt_min_ms" => ("ms", "minimum round-trip time of the smallest probes"),
        "rtt_mean_ms" => ("ms", "their mean"),
        "rtt_p50_ms" => ("ms", "their median"),
        "rtt_max_ms" => ("ms", "their maximum"),
        "return_hops" => (
            "hops",
            "the hops that its answers took back, from their TTL",
        ),
        "link_from_ttl" => (
            "",
            "the TTL of the near end of the link that leads to it, 0 for this machine",
        ),
        "link_class" => (
            "",
            "what that link does to packets: `serialising`, `shaped`, `too_fast`, `filtered`, `perhaps_hidden_switch` or `undetermined`",
        ),
        "link_confidence" => ("", "`low`, `medium` or `high`: that of the class"),
        "capacity_bps" => (
            "bit/s",
            "its capacity in the direction of the probes, frames on the wire; of a shaped link the minimum over the path so far",
        ),
        "capacity_low_bps" => ("bit/s", "lower end of the interval of the capacity"),
        "capacity_high_bps" => ("bit/s", "upper end"),
        "at_least_bps" => ("bit/s", "the rate it has at least, without a capacity"),
        "narrow" => (
            "0 or 1",
            "1 for the narrow link; empty where it cannot be told",
        ),
        _ => return None,
    })
}

/// The unit and meaning of a column of its second table; `None` for one without a description.
pub fn direction_column(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "direction" => ("", "`up` (to the host) or `down`"),
        "capacity_bps" => (
            "bit/s",
            "the capacity of the narrow link, frames on the wire",
        ),
        "capacity_low_bps" => ("bit/s", "its lower bound"),
        "capacity_high_bps" => ("bit/s", "its upper bound"),
        "confidence" => (
            "",
            "how much that deserves to be believed: `low`, `medium` or `high`",
        ),
        "shaped_bps" => ("bit/s", "the rate that a token bucket in the way sustains"),
        "bucket_bytes" => ("bytes", "what it lets pass at once"),
        "available_low_bps" => ("bit/s", "the lower end of the available bandwidth"),
        "available_high_bps" => ("bit/s", "its upper end; empty where no rate was above it"),
        "rtt_min_ms" => (
            "ms",
            "the minimum round-trip time without load, of both directions together",
        ),
        "delay_variation_p50_ms" => ("ms", "one-way delay above its minimum: median"),
        "delay_variation_p90_ms" => ("ms", "90th percentile"),
        "bdp_bytes" => ("bytes", "the bandwidth-delay product"),
        "window_needed_bytes" => ("bytes", "the window that TCP needs"),
        "window_allowed_bytes" => (
            "bytes",
            "the largest that the kernels of both ends reach by their own tuning",
        ),
        "flows_needed" => (
            "flows",
            "the flows that fill the path with that, where one does not",
        ),
        "duplex_mode" => (
            "",
            "the duplex mode of the links: `full`, `half`, `mismatch_near_half`, `mismatch_far_half`, `mismatch` or `cannot_tell`",
        ),
        _ => return None,
    })
}

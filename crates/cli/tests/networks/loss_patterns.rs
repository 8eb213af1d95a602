//! What TCP loses on paths whose truth is known: the cause named is the right one, or none.

use crate::support::network::{Network, missing, missing_shaper};
use crate::support::pair::Pair;
use crate::support::{run, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Duration;

/// The causes that a connection may be said to be limited by; one of them is to be said, or that it cannot be told.
struct Truth {
    name: &'static str,
    link: &'static str,
    congestion: &'static str,
    right: &'static [&'static str],
    /// `true` where it is to be told.
    is_plain: bool,
}

const TRUTHS: [Truth; 10] = [
    Truth {
        name: "a_short_queue_on_a_long_path_is_no_policer",
        link: "rate = \"50M\"\ndelay = \"75ms\"\nqueue = { bytes = 94000 }",
        congestion: "cubic",
        right: &["link_rate", "slow_start"],
        is_plain: false,
    },
    Truth {
        name: "a_short_queue_is_no_random_loss",
        link: "rate = \"100M\"\ndelay = \"5ms\"\nqueue = { bytes = 15000 }",
        congestion: "cubic",
        right: &["link_rate"],
        is_plain: false,
    },
    Truth {
        name: "a_queue_that_bbr_overflows_is_the_link",
        link: "rate = \"50M\"\ndelay = \"75ms\"\nqueue = { bytes = 190000 }",
        congestion: "bbr",
        right: &["link_rate"],
        is_plain: true,
    },
    Truth {
        name: "an_overflow_in_slow_start_is_named",
        link: "rate = \"100M\"\ndelay = \"75ms\"\nqueue = { bytes = 900000 }",
        congestion: "cubic",
        right: &["slow_start", "link_rate", "bufferbloat"],
        is_plain: true,
    },
    Truth {
        name: "little_random_loss_on_a_long_path_is_named",
        link: "rate = \"100M\"\ndelay = \"25ms\"\nforward = { loss = \"0.3%\" }",
        congestion: "cubic",
        right: &["random_loss"],
        is_plain: true,
    },
    Truth {
        name: "random_loss_does_not_limit_bbr",
        link: "rate = \"50M\"\ndelay = \"25ms\"\nforward = { loss = \"0.5%\" }",
        congestion: "bbr",
        right: &["link_rate"],
        is_plain: true,
    },
    Truth {
        name: "a_policer_with_bbr_is_named",
        link: "rate = \"100M\"\ndelay = \"10ms\"\nforward = { policer = { rate = \"15M\", burst = 60000 } }",
        congestion: "bbr",
        right: &["policer"],
        is_plain: true,
    },
    Truth {
        name: "bursts_of_bbr_at_a_short_queue_are_no_policers",
        link: "rate = \"150M\"\ndelay = \"8ms\"\nqueue = { frames = 8 }",
        congestion: "bbr",
        right: &["link_rate"],
        is_plain: false,
    },
    Truth {
        name: "a_queue_of_one_frame_does_not_fill_the_link",
        link: "rate = \"23M\"\ndelay = \"0.7ms\"\nqueue = { frames = 1 }",
        congestion: "cubic",
        right: &[],
        is_plain: false,
    },
    Truth {
        name: "much_random_loss_on_a_short_path_is_no_full_link",
        link: "rate = \"36M\"\ndelay = \"0.6ms\"\nforward = { loss = \"2.4%\" }",
        congestion: "cubic",
        right: &["random_loss"],
        is_plain: false,
    },
];

pub fn trials() -> Vec<Trial> {
    let in_lab = TRUTHS
        .iter()
        .map(|truth| trial(truth.name, missing(&["sysctl"]), || truth.check()));
    let behind_link = trial(
        "a_policer_behind_a_link_is_named",
        missing_shaper().or_else(|| missing(&["nft"])),
        policer_behind_link,
    );
    let window = trial(
        "a_window_that_bbr_seldom_fills_is_named",
        missing(&["sysctl"]),
        window_of_bbr,
    );
    in_lab.chain([behind_link, window]).collect()
}

impl Truth {
    fn check(&self) {
        let pair = Pair::up(self.link);
        let _server = pair.serve();
        let mut client = pair.client(&format!("tcp h2 -t 8 -C {} --json", self.congestion));
        let ended = run(&mut client, Duration::from_secs(60));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let found = limited_by(&ended.json());
        match found["cause"].as_str() {
            Some(cause) => assert!(self.right.contains(&cause), "{found}"),
            None => assert!(!self.is_plain && found["limit"] == "network", "{found}"),
        }
    }
}

fn limited_by(run: &Value) -> Value {
    run["summary"]["directions"][0]["limited_by"].clone()
}

/// Windows of a fifth of what the path needs, which bbr paces below.
fn window_of_bbr() {
    let pair = Pair::up("rate = \"100M\"\ndelay = \"19ms\"");
    let _server = pair.serve();
    for window in [65_000, 125_000] {
        let words = format!("tcp h2 -t 5 -C bbr -w {window} --json");
        let ended = run(&mut pair.client(&words), Duration::from_secs(60));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let found = limited_by(&ended.json());
        let limit = found["limit"].as_str().unwrap();
        assert!(
            ["receiver_window", "send_buffer"].contains(&limit),
            "{found}"
        );
    }
}

/// Tests of a policer in which bbr is to name it once: of round trips of 10 µs, one in three shows too little to tell.
const TESTS_OF_BBR: usize = 3;

/// A link of 50 Mbit/s, and a policer of 10 behind it.
fn policer_behind_link() {
    for (congestion, tests) in [("cubic", 1), ("bbr", TESTS_OF_BBR)] {
        let network = Network::build();
        network.shape("50mbit");
        Network::rules(
            &network.server,
            &["tcp dport 5201 limit rate over 1250 kbytes/second burst 50 kbytes drop"],
        );
        let _server = network.serve("");
        let is_named = (0..tests).any(|_| {
            let ended = network.run_client(&format!("tcp -t 8 -C {congestion} --json"));
            assert_eq!(ended.code, Some(0), "{ended:#?}");
            let found = limited_by(&ended.json());
            // Never another name.
            let is_untold = found["cause"].is_null() && found["limit"] == "network";
            assert!(
                found["cause"] == "policer" || is_untold,
                "{congestion}: {found}"
            );
            !is_untold
        });
        // Few readings show how cubic came to lose.
        assert!(
            is_named || congestion == "cubic",
            "{congestion} never names it"
        );
    }
}

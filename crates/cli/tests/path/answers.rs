//! What `caudal path` answers in its first line, over paths that are not easy: a varying delay, a policer, token buckets of the kernel, no limit.

use crate::support::network::missing;
use crate::support::path_lab::{PathLab, is_documented, measured};
use crate::support::{caudal, run, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Duration;

/// The time limit of a command.
const LIMIT: Duration = Duration::from_secs(300);
/// Hosts h1 and h2 with routers r1 and r2 between them, and links of the kernel without a rate.
const UNLIMITED: &str = "host = [{ name = \"h1\" }, { name = \"h2\" }]\n\
    router = [{ name = \"r1\" }, { name = \"r2\" }]\n\
    link = [{ between = [\"h1\", \"r1\"] }, { between = [\"r1\", \"r2\"] }, { between = [\"r2\", \"h2\"] }]\n";

pub fn trials() -> Vec<Trial> {
    [
        (
            "on_a_wan_whose_delay_varies_trains_answer",
            &["chrt"][..],
            wan as fn(),
        ),
        (
            "a_policer_is_the_answer_or_named_as_not_looked_for",
            &["chrt"],
            policed,
        ),
        ("three_links_have_one_narrow_link", &["chrt"], three_links),
        (
            "a_token_bucket_of_the_kernel_is_a_shaper",
            &["chrt", "tc"],
            kernel_bucket,
        ),
        ("a_path_without_a_limit_has_a_bound", &[], unlimited),
    ]
    .into_iter()
    .map(|(name, programs, test)| trial(name, missing(programs), test))
    .collect()
}

/// What a path was found to be: its document and its closing text.
struct Answer {
    run: Value,
    text: String,
}

impl Answer {
    /// That of `caudal path` on h1 with these words.
    fn of(lab: &PathLab, words: &str) -> Self {
        let store = lab.place.store();
        let mut command = lab.path_command(&format!("{words} --json"));
        command.env("CAUDAL_STORE", &store);
        let ended = run(&mut command, LIMIT).done();
        let mut replay = caudal("report replay last --speed 100000".split(' '));
        replay.env("CAUDAL_STORE", &store);
        let answer = Self {
            run: ended.json(),
            text: run(&mut replay, LIMIT).done().stdout,
        };
        is_documented(&answer.run);
        answer
    }

    /// The narrow link as it is headed: the only one.
    #[track_caller]
    fn headline(&self) -> String {
        let mut lines = self
            .text
            .lines()
            .skip_while(|line| !line.starts_with("narrow link: "));
        let first = lines.next().unwrap_or_else(|| panic!("{}", self.text));
        let folded = lines.take_while(|line| line.starts_with("    "));
        let headline = folded.fold(first.to_owned(), |all, line| {
            format!("{all} {}", line.trim())
        });
        let others = self.text.lines().filter(|line| {
            line.starts_with("narrow link: ") || line.starts_with("between both ends: ")
        });
        assert_eq!(others.count(), 1, "{}", self.text);
        headline
    }

    fn direction(&self, name: &str) -> &Value {
        let directions = self.run["path"]["between_ends"]["directions"].as_array();
        let mut directions = directions.unwrap().iter();
        directions.find(|one| one["direction"] == name).unwrap()
    }

    /// The rate that a direction sustains, Mbit/s, if it is within a part of this.
    fn sustains(&self, name: &str, mbps: f64, part: f64) -> Result<(), String> {
        let narrow = &self.direction(name)["narrow"];
        let rate = match &narrow["shaper"] {
            Value::Null => &narrow["capacity_bps"]["mean"],
            shaper => &shaper["rate_bps"]["mean"],
        };
        match rate.as_f64() {
            Some(rate) if (rate / 1e6 / mbps - 1.0).abs() <= part => Ok(()),
            _ => Err(format!("{name} sustains {mbps} Mbit/s: {narrow}")),
        }
    }

    /// Fails where the available bandwidth of a direction is above what it sustains.
    #[track_caller]
    fn is_within_the_capacity(&self) {
        for name in ["up", "down"] {
            let of = self.direction(name);
            let narrow = &of["narrow"];
            let sustained = match &narrow["shaper"] {
                Value::Null => narrow["capacity_bps"]["mean"].as_f64(),
                shaper => shaper["rate_bps"]["mean"].as_f64(),
            };
            for end in ["low_bps", "high_bps"] {
                let (available, sustained) = (of["available"][end].as_f64(), sustained);
                let is_within =
                    available.is_none_or(|rate| sustained.is_some_and(|max| rate <= max + 1.0));
                assert!(is_within, "{of:#}");
            }
        }
    }
}

fn wan() {
    let lab = PathLab::preset("wan");
    let _server = lab.serve("");
    measured(|| {
        let answer = Answer::of(&lab, "h2 -4 --peer");
        for name in ["up", "down"] {
            answer.sustains(name, 50.0, 0.04)?;
            let narrow = &answer.direction(name)["narrow"];
            if narrow["evidence"] != "trains" {
                return Err(narrow.to_string());
            }
        }
        let headline = answer.headline();
        assert!(headline.starts_with("narrow link: upload "), "{headline}");
        assert!(
            headline.contains("by packet trains between both ends (low confidence)"),
            "{headline}"
        );
        answer.is_within_the_capacity();
        Ok(())
    });
}

fn policed() {
    let lab = PathLab::preset("policed");
    let _server = lab.serve("");
    measured(|| {
        let answer = Answer::of(&lab, "h2 -4 --peer --no-duplex");
        answer.sustains("up", 15.0, 0.05)?;
        let shaper = &answer.direction("up")["narrow"]["shaper"];
        if shaper["kind"] != "policer" {
            return Err(shaper.to_string());
        }
        let headline = answer.headline();
        assert!(
            headline.contains("Mbit/s (a policer), download "),
            "{headline}"
        );
        answer.is_within_the_capacity();
        Ok(())
    });
    let text = lab.path("h2 -4 -t 3s --no-routes").done().stdout;
    let words: Vec<&str> = text.split_whitespace().collect();
    let said = "policers were not looked for: that takes --peer";
    assert!(words.join(" ").contains(said), "{text}");
}

fn three_links() {
    let lab = PathLab::up(
        "host = [{ name = \"h1\" }, { name = \"h2\" }]\n\
         router = [{ name = \"r1\" }, { name = \"r2\" }]\n\
         link = [{ between = [\"h1\", \"r1\"], rate = \"100M\" },\n\
         { between = [\"r1\", \"r2\"], rate = \"20M\", delay = \"10ms\" }, { between = [\"r2\", \"h2\"], rate = \"100M\" }]\n",
    );
    let _server = lab.serve("");
    measured(|| {
        let answer = Answer::of(&lab, "h2 -4 --peer --no-duplex");
        for name in ["up", "down"] {
            answer.sustains(name, 20.0, 0.02)?;
        }
        answer.headline();
        answer.is_within_the_capacity();
        assert!(
            answer
                .text
                .contains("no policer or shaper with a bucket of up to"),
            "{}",
            answer.text
        );
        Ok(())
    });
}

fn kernel_bucket() {
    let lab = PathLab::up(UNLIMITED);
    let _server = lab.serve("");
    // Frames without preamble and gap are counted: 1514 bytes of 1538.
    let rule = "tc qdisc replace dev eth1 root tbf rate 20mbit burst 16k limit 250k";
    lab.does("r1", rule);
    measured(|| {
        let answer = Answer::of(&lab, "h2 -4 --peer --no-duplex");
        answer.sustains("up", 20.0 * 1538.0 / 1514.0, 0.05)?;
        let shaper = &answer.direction("up")["narrow"]["shaper"];
        if shaper["kind"] != "shaper" {
            return Err(answer.direction("up").to_string());
        }
        let headline = answer.headline();
        assert!(
            headline.contains("Mbit/s (a shaper), download above "),
            "{headline}"
        );
        answer.is_within_the_capacity();
        Ok(())
    });
}

fn unlimited() {
    let lab = PathLab::up(UNLIMITED);
    let _server = lab.serve("");
    let answer = Answer::of(&lab, "h2 -4 --peer --no-duplex -t 5s");
    for name in ["up", "down"] {
        let narrow = &answer.direction(name)["narrow"];
        assert!(narrow["capacity_bps"].is_null(), "{narrow}");
        assert!(narrow["shaper"].is_null(), "{narrow}");
    }
    let headline = answer.headline();
    assert!(
        headline.contains("above ") || headline.contains("cannot tell"),
        "{headline}"
    );
}

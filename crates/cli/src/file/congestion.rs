//! The congestion control of each protocol: one family for all that are compared, as far as they have it.

use super::args::FileArgs;
use super::cells::{is_over_tcp, protocols};
use crate::exit::Failure;
use crate::machine_checks;
use caudal_core::plan::FileProtocol;

/// The names that rbt knows.
const OF_RBT: [&str; 4] = ["cubic", "newreno", "bbr", "fixed"];
/// The congestion control of all protocols that are compared, unless a flag names another.
const COMPARED: &str = "cubic";
/// The fixed rate without congestion control, which rbt alone has.
pub(super) const FIXED: &str = "fixed";

/// The congestion control asked of a protocol; `None` leaves it to its sender.
pub(super) fn congestion(args: &FileArgs, protocol: FileProtocol) -> Option<String> {
    let is_compared = protocols(args).len() > 1;
    let name = match args.congestion.as_deref() {
        None => is_compared.then_some(COMPARED)?,
        Some(FIXED) if protocol != FileProtocol::Rbt => COMPARED,
        Some(name) => name,
    };
    Some(match name {
        // The kernel's NewReno is its `reno`.
        "newreno" if is_over_tcp(protocol) => "reno".to_owned(),
        "reno" if !is_over_tcp(protocol) => "newreno".to_owned(),
        name => name.to_owned(),
    })
}

/// Checks that each protocol has the congestion control asked for; `offered` are those of this kernel.
///
/// # Errors
/// Names the flag, and what there is.
pub(super) fn check_congestion(args: &FileArgs, offered: &[String]) -> Result<(), Failure> {
    let protocols = protocols(args);
    let has_rbt = protocols.contains(&FileProtocol::Rbt);
    if let Some(name) = args.congestion.as_deref() {
        if name == FIXED && !has_rbt {
            return Err(Failure::usage(
                "--congestion fixed is rbt's, and --via has no rbt",
                "add rbt, or choose cubic, newreno or bbr",
            ));
        }
        let in_user_space = |protocol: &FileProtocol| !is_over_tcp(*protocol);
        let known = name == "reno" || OF_RBT.contains(&name);
        if !known && protocols.iter().any(in_user_space) {
            return Err(Failure::usage(
                format!("--congestion {name:?} is none that rbt and quic have"),
                "choose cubic, newreno or bbr, for rbt also fixed",
            ));
        }
    }
    let sends_here = !args.reverse && args.get.is_none();
    let of_tcp = protocols.into_iter().find(|one| is_over_tcp(*one));
    let asked = of_tcp.and_then(|protocol| congestion(args, protocol));
    match asked.filter(|_| sends_here) {
        Some(name) => machine_checks::check_congestion(&name, offered),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parsed::parsed;
    use super::*;
    use crate::exit::Exit;

    fn named(line: &str) -> Vec<Option<String>> {
        let args = parsed(line);
        let each = protocols(&args).into_iter();
        each.map(|protocol| congestion(&args, protocol)).collect()
    }

    #[test]
    fn protocols_that_are_compared_have_one_family() {
        let some = |names: &[&str]| -> Vec<Option<String>> {
            names.iter().map(|name| Some((*name).to_owned())).collect()
        };
        assert_eq!(named(""), some(&["cubic", "cubic"]));
        assert_eq!(named("--via tcp"), [None]);
        assert_eq!(
            named("-C newreno --via tcp,tls,rbt"),
            some(&["reno", "reno", "newreno"])
        );
        assert_eq!(named("-C fixed -b 1G"), some(&["cubic", "fixed"]));
        assert_eq!(named("-C bbr --via rbt"), some(&["bbr"]));
    }

    #[test]
    fn a_name_that_a_protocol_does_not_have_is_refused() {
        let offered = ["cubic".to_owned(), "reno".to_owned()];
        let exit = |line: &str| {
            let checked = check_congestion(&parsed(line), &offered);
            checked.err().map(|failure| failure.exit)
        };
        assert_eq!(exit(""), None);
        assert_eq!(exit("-C reno"), None);
        assert_eq!(exit("-C fixed -b 1G --via rbt"), None);
        assert_eq!(exit("-C fixed -b 1G --via tcp"), Some(Exit::Usage));
        assert_eq!(exit("-C vegas"), Some(Exit::Usage));
        assert_eq!(exit("-C vegas --via tcp"), Some(Exit::NotPermitted));
        assert_eq!(exit("-C bbr"), Some(Exit::NotPermitted));
        assert_eq!(exit("-C bbr -R"), None);
    }
}

//! The account in a `caudal.run/1` document.

use super::account::{Account, Figures};
use serde_json::Value;

pub fn read(text: &str) -> Account {
    let report: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut account = Account::default();
    for flow in report["flows"].as_array().unwrap() {
        let figures = Figures {
            sent: flow["sender"]["bytes"].as_u64(),
            received: flow["receiver"]["bytes"].as_u64(),
            lost: flow["receiver"]["lost"].as_u64(),
        };
        let direction = match flow["direction"].as_str() {
            Some("up") => &mut account.up,
            _ => &mut account.down,
        };
        direction.add(figures);
        account.flows += 1;
    }
    account
}

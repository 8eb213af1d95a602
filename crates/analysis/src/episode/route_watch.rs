//! The watch over the route by which an end sends to the other. Time is an argument.

use caudal_core::episode::ChangedRoute;

/// Maximum number of changes that are kept, the first ones.
const MAX_CHANGES: usize = 100;

/// The watch over a route.
#[derive(Debug, Default)]
pub struct RouteWatch {
    start_ns: u64,
    /// The latest route that there was.
    route: Option<String>,
    changes: Vec<ChangedRoute>,
}

impl RouteWatch {
    /// The watch over a test that starts at `start_ns`.
    #[must_use]
    pub fn new(start_ns: u64) -> Self {
        Self {
            start_ns,
            ..Self::default()
        }
    }

    /// Takes the route at `now_ns`, such as "by eth0 through 192.0.2.1"; `None` where there is none: what goes and comes back as it was is
    /// an outage, and no change.
    pub fn read(&mut self, now_ns: u64, route: Option<&str>) {
        let Some(after) = route else {
            return;
        };
        let before = self.route.replace(after.to_owned());
        let before = before.filter(|before| before != after);
        if let Some(before) = before.filter(|_| self.changes.len() < MAX_CHANGES) {
            self.changes.push(ChangedRoute {
                at_s: now_ns.saturating_sub(self.start_ns) as f64 / 1e9,
                before: before.into(),
                after: after.into(),
            });
        }
    }

    /// The changes in order.
    #[must_use]
    pub fn finish(self) -> Vec<ChangedRoute> {
        self.changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(routes: &[Option<&str>]) -> Vec<(f64, String, String)> {
        const START: u64 = 9_000_000_000;
        let mut watch = RouteWatch::new(START);
        for (nth, route) in routes.iter().enumerate() {
            watch.read(START + nth as u64 * 500_000_000, *route);
        }
        let text = |text: &caudal_core::text::ExternalText| text.to_string();
        let found = watch.finish().into_iter();
        found
            .map(|one| (one.at_s, text(&one.before), text(&one.after)))
            .collect()
    }

    #[test]
    fn a_route_that_becomes_another_is_a_change() {
        let (eth, vpn) = (Some("by eth0 through 192.0.2.1"), Some("by wg0"));
        let told = |at_s, before: Option<&str>, after: Option<&str>| {
            let text = |text: Option<&str>| text.unwrap().to_owned();
            (at_s, text(before), text(after))
        };
        assert_eq!(changes(&[eth, eth, vpn, vpn]), [told(1.0, eth, vpn)]);
        assert_eq!(
            changes(&[eth, vpn, eth]),
            [told(0.5, eth, vpn), told(1.0, vpn, eth)]
        );
    }

    #[test]
    fn a_route_that_goes_and_comes_back_is_none() {
        let eth = Some("by eth0");
        assert_eq!(changes(&[eth, None, None, eth]), []);
        assert_eq!(changes(&[None, eth, eth]), []);
        let flapping: Vec<_> = (0..500).map(|nth| [eth, Some("by wg0")][nth % 2]).collect();
        assert_eq!(changes(&flapping).len(), MAX_CHANGES);
    }
}

//! `caudal serve --web`: the page, ndt7 and tests with a page, under clients that behave and clients that do not.

mod attacks;
mod browser;
mod client;
mod page;
mod tests_of_browsers;

use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    let groups = [
        attacks::trials(),
        browser::trials(),
        page::trials(),
        tests_of_browsers::trials(),
    ];
    groups.into_iter().flatten().collect()
}

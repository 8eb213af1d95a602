//! `caudal ui`: who is answered, what may be started, and the pages in a browser.

mod access;
mod pages;

use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    let groups = [access::trials(), pages::trials()];
    groups.into_iter().flatten().collect()
}

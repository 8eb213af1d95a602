//! The files of the page.

/// A file of the page, with its type; `None` where there is none of this path.
pub(crate) fn asset(path: &str) -> Option<(&'static [u8], &'static str)> {
    Some(match path {
        "/" => (
            include_bytes!("../page/index.html").as_slice(),
            "text/html; charset=utf-8",
        ),
        "/page.js" => (
            include_bytes!("../page/page.js").as_slice(),
            "text/javascript; charset=utf-8",
        ),
        "/page.css" => (
            include_bytes!("../page/page.css").as_slice(),
            "text/css; charset=utf-8",
        ),
        "/icon.svg" => (
            include_bytes!("../page/icon.svg").as_slice(),
            "image/svg+xml",
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_and_loads_nothing_from_elsewhere() {
        let paths = ["/", "/page.js", "/page.css", "/icon.svg"];
        let files = paths.map(|path| asset(path).unwrap().0);
        let total: usize = files.iter().map(|file| file.len()).sum();
        assert!(total <= 40_000, "{total} B");
        for file in files {
            let text = std::str::from_utf8(file).unwrap();
            let elsewhere = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!elsewhere.contains("http://") && !elsewhere.contains("https://"));
            assert!(!text.contains("<script>") && !text.contains("style=\""));
        }
        assert_eq!(asset("/other"), None);
    }
}

//! The files of the pages: the bundle that `xtask ui` makes from `web/`, kept in the repository.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

/// A file: its path, its type, its bytes.
const FILES: [(&str, &str, &[u8]); 4] = [
    (
        "/",
        "text/html; charset=utf-8",
        include_bytes!("../web/index.html"),
    ),
    (
        "/app.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../web/dist/app.js"),
    ),
    (
        "/app.css",
        "text/css; charset=utf-8",
        include_bytes!("../web/dist/app.css"),
    ),
    (
        "/icon.svg",
        "image/svg+xml",
        include_bytes!("../web/icon.svg"),
    ),
];

/// Answers with a file.
pub(crate) fn asset(path: &str) -> Response {
    match FILES.iter().find(|(known, ..)| *known == path) {
        Some((_, kind, bytes)) => ([(CONTENT_TYPE, *kind)], *bytes).into_response(),
        None => (StatusCode::NOT_FOUND, "There is nothing here.\n").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_nothing_inline_and_loads_nothing_from_elsewhere() {
        let (_, _, page) = FILES[0];
        let text = std::str::from_utf8(page).unwrap();
        assert!(!text.contains("://") && !text.contains("style=") && !text.contains(" on"));
        let scripts: Vec<_> = text.split("<script").skip(1).collect();
        assert!(
            scripts
                .iter()
                .all(|script| script.contains(" src=\"/app.js\""))
        );
    }
}

//! Draws one figure of each kind, with data like that of measurements, for review:
//! `cargo run -p caudal-plot --example gallery -- DIR` writes each at full and half width, light and dark, and a page of all.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

#[path = "../tests/support/figures.rs"]
mod figures;

use caudal_plot::{Figure, STYLE_SHEET};

fn main() -> io::Result<()> {
    let place = std::env::args().nth(1).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "give a directory for the figures",
        )
    })?;
    fs::create_dir_all(&place)?;
    let place = Path::new(&place);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>caudal: figures</title>\n<style>{STYLE_SHEET}</style>\n"
    );
    for (name, figure) in figures::all() {
        let half = Figure {
            size: Figure::HALF,
            ..figure.clone()
        };
        fs::write(place.join(format!("{name}.svg")), figure.svg())?;
        fs::write(place.join(format!("{name}-half.svg")), half.svg())?;
        fs::write(place.join(format!("{name}-dark.svg")), figure.dark_svg())?;
        fs::write(place.join(format!("{name}-half-dark.svg")), half.dark_svg())?;
        let _ = writeln!(page, "<figure>{}</figure>", figure.inline_svg());
    }
    fs::write(place.join("index.html"), page)
}

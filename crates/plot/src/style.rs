//! The style sheet of figures: colours, strokes and dashes.
//!
//! Classes of series set only `color` and classes of shapes use it, so that the order of rules does not matter and dark mode
//! is a second list of colours.

/// The number of series with their own colour, dash, marker and hatching; further series repeat them.
pub const COLOURS: usize = 8;

/// Shapes, and colours on a light background that most people can distinguish, after Okabe and Ito, darkened.
macro_rules! light {
    () => {
        "\
svg.caudal{color:#1b1f24;font-family:system-ui,'DejaVu Sans',sans-serif;font-variant-numeric:tabular-nums}\
:not(svg):not(g)>svg.caudal{max-width:100%;height:auto}\
svg.caudal text{fill:currentColor}\
.caudal .b{fill:#fff}\
.caudal .t{font-weight:600}\
.caudal .m{opacity:.72}\
.caudal .h{stroke:#fff;stroke-width:4;stroke-linejoin:round;paint-order:stroke}\
.caudal .g{stroke:currentColor;stroke-opacity:.14;stroke-width:1;fill:none}\
.caudal .f{stroke:currentColor;stroke-opacity:.55;stroke-width:1;fill:none}\
.caudal .v{stroke:currentColor;stroke-opacity:.7;stroke-width:1.2;stroke-dasharray:4 3;fill:none}\
.caudal .l{stroke:currentColor;stroke-width:2;fill:none;stroke-linejoin:round;stroke-linecap:butt}\
.caudal .c{stroke:currentColor;stroke-width:1.5;fill:none}\
.caudal .c2{stroke:currentColor;stroke-width:2.5;fill:none}\
.caudal .x{stroke:currentColor;stroke-width:1;fill:none}\
.caudal .p{stroke:currentColor;stroke-width:1.2;fill:currentColor}\
.caudal .o{stroke:currentColor;stroke-width:1;fill:#fff;fill-opacity:.75}\
.caudal .k{stroke:currentColor;stroke-width:3.5;stroke-linecap:round;fill:none;stroke-opacity:.55}\
.caudal .d{fill:currentColor}\
.caudal .a{fill:currentColor;fill-opacity:.2}\
.caudal .e{fill:currentColor;fill-opacity:.11}\
.caudal .w{fill:currentColor;fill-opacity:.85}\
.caudal .y{fill:currentColor;fill-opacity:.5}\
.caudal .u{stroke:#fff;stroke-width:4;stroke-opacity:.85;fill:none}\
.caudal .s0{color:#0060a8}.caudal .s1{color:#c44e00}.caudal .s2{color:#00795a}.caudal .s3{color:#a8437f}\
.caudal .s4{color:#7a6a00}.caudal .s5{color:#2f86c9}.caudal .s6{color:#5b5f66}.caudal .s7{color:#7d3ac1}\
.caudal .s1.l{stroke-dasharray:8 4}.caudal .s2.l{stroke-dasharray:2 3}.caudal .s3.l{stroke-dasharray:10 3 2 3}\
.caudal .s4.l{stroke-dasharray:5 3}.caudal .s5.l{stroke-dasharray:12 4}.caudal .s6.l{stroke-dasharray:3 2}\
.caudal .s7.l{stroke-dasharray:8 3 2 3 2 3}"
    };
}

/// The colours on a dark background, under a selector.
macro_rules! dark {
    ($alone:literal, $within:literal) => {
        concat!(
            $alone,
            "{color:#e6e8eb}",
            $within,
            ".b{fill:#15181c}",
            $within,
            ".h{stroke:#15181c}",
            $within,
            ".o{fill:#15181c}",
            $within,
            ".u{stroke:#15181c}",
            $within,
            ".s0{color:#6cb8f0}",
            $within,
            ".s1{color:#ff9a52}",
            $within,
            ".s2{color:#4fd1a5}",
            $within,
            ".s3{color:#f090c4}",
            $within,
            ".s4{color:#e8d34a}",
            $within,
            ".s5{color:#9ad0f5}",
            $within,
            ".s6{color:#b4b9c0}",
            $within,
            ".s7{color:#c39af5}"
        )
    };
}

/// The style sheet of all figures, for a page that contains [`Figure::inline_svg`](crate::Figure::inline_svg): once, in a `<style>`
/// element.
///
/// Dark where the reader prefers it, unless an enclosing element has `data-theme="light"` or `"dark"`; always light in
/// print.
pub const STYLE_SHEET: &str = concat!(
    light!(),
    "@media screen and (prefers-color-scheme:dark){",
    dark!(
        ":root:not([data-theme=light]) svg.caudal",
        ":root:not([data-theme=light]) .caudal "
    ),
    // In a file of its own the figure is the root element.
    dark!("svg.caudal:root", "svg.caudal:root "),
    "}@media screen{",
    dark!("[data-theme=dark] svg.caudal", "[data-theme=dark] .caudal "),
    "}"
);

/// The style sheet of a self-contained figure that is always dark.
pub(crate) const DARK: &str = concat!(light!(), dark!("svg.caudal", ".caudal "));

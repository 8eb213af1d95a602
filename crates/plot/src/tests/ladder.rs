//! Properties of sequence diagrams.

use super::svg_check::svg_error;
use crate::{LadderArrow, LadderFigure, LadderWay};
use proptest::prelude::*;

fn arrow() -> impl Strategy<Value = LadderArrow> {
    let words = || prop_oneof![Just(String::new()), ".{0,120}", "[A-Z ]{0,40}"];
    (any::<bool>(), "[0-9]{1,12}", words(), words()).prop_map(
        |(is_right, number, words, remark)| LadderArrow {
            way: if is_right {
                LadderWay::Right
            } else {
                LadderWay::Left
            },
            time: format!("{number} s"),
            number,
            words,
            remark,
        },
    )
}

proptest! {
    #[test]
    fn a_sequence_diagram_is_valid_svg_whose_texts_do_not_overlap(
        title in ".{0,200}",
        ends in (".{0,80}", ".{0,80}"),
        note in prop::option::of(".{0,200}"),
        arrows in prop::collection::vec(arrow(), 0..8),
    ) {
        let figure = LadderFigure {
            title,
            description: "frames".to_owned(),
            left: ends.0,
            right: ends.1,
            arrows,
            note,
        };
        prop_assert_eq!(svg_error(&figure.svg()), None);
    }
}

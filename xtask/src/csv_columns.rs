//! The generated reference of CSV columns.

use caudal_report::LIST_COLUMNS;
use caudal_report::export::ValueRow;
use caudal_views::column::Column;
use caudal_views::predict::PredictionRow;
use caudal_views::{
    check, closing, connect, path, quality, round_trips, search_table, stamp, transfers,
};
use std::fmt::Write as _;

/// The page of CSV columns, after `note`.
pub fn page(note: &str) -> String {
    let mut page = format!(
        "{note}# CSV\n\n`--csv` prints a header line and then a line for each flow and interval, as soon as both ends \
         have been read, and one more line for the sum of each direction that has several flows. A cell \
         is empty where a column does not apply, or the kernel or the server does not report the value. New columns are added at the \
         end.\n\n## caudal tcp, caudal udp\n\n"
    );
    page += &table(&closing::BulkRow::COLUMNS);
    page += "\n## caudal udp --find-rate\n\nOne line for each trial.\n\n";
    page += &table(&search_table::CSV_COLUMNS);
    page += "\n## caudal rtt\n\nA line for each size and client, then one for all clients of that size.\n\n";
    page += &table(&round_trips::ReplyRow::COLUMNS);
    page += "\n## caudal rtt --raw FILE\n\nEvery message.\n\n";
    page += &table(&round_trips::SampleRow::COLUMNS);
    page += "\n## caudal connect\n\nOne line for each interval.\n\n";
    page += &table(&connect::CSV_COLUMNS);
    page += "\n## caudal stamp\n\nOne line for each interval.\n\n";
    page += &table(&stamp::CSV_COLUMNS);
    page += "\n## caudal check\n\nOne line for each figure, when the check is over.\n\n";
    page += &table(&check::CheckFigure::COLUMNS);
    page += "\n## caudal report list\n\nA line for each run and study, the newest first.\n\n";
    page += &table(&LIST_COLUMNS);
    page += "\n## caudal predict\n\nA line for each prediction, of every value of a sweep.\n\n";
    page += &table(&PredictionRow::COLUMNS);
    page += "\n## caudal quality\n\nOne line for each interval, as soon as its probes have come back.\n\n";
    page += &table(&quality::CSV_COLUMNS);
    page += "\n## caudal file\n\nOne line for each transfer that counts, when all are over.\n\n";
    page += &table(&transfers::TransferRow::COLUMNS);
    page += "\n## caudal path\n\nOne line for each hop, with the link that leads to it, when probing is over.\n\n";
    page += &table(&path::HopRow::COLUMNS);
    page += "\nWith a server at the host an empty line follows, and a second table: one line for each direction between both ends.\n\n";
    page += &table(&path::DirectionRow::COLUMNS);
    page += "\n## caudal pcap\n\nA line for each flow, the most bytes first; a value that is not known is empty.\n\n";
    page += &table(&caudal_views::pcap::CSV_COLUMNS);
    page += "\n## caudal report export --csv\n\nA line for each value of a run or study. A value that is not known has no line.\n\n";
    page += &table(&ValueRow::COLUMNS);
    page += "| `parameter_NAME` | that of the parameter | a study has one for each parameter: its value as the experiment writes it |\n";
    page
}

/// A table of these columns, with the condition of each where they have one.
fn table<Row>(columns: &[Column<Row>]) -> String {
    let tells_presence = columns.iter().any(|column| !column.present.is_empty());
    let mut table = if tells_presence {
        "| column | unit | present | meaning |\n|---|---|---|---|\n".to_owned()
    } else {
        "| column | unit | meaning |\n|---|---|---|\n".to_owned()
    };
    for column in columns {
        let (name, unit, meaning) = (column.name, column.unit, column.meaning);
        let _ = if tells_presence {
            writeln!(
                table,
                "| `{name}` | {unit} | {} | {meaning} |",
                column.present
            )
        } else {
            writeln!(table, "| `{name}` | {unit} | {meaning} |")
        };
    }
    table
}

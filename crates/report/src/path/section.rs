//! The result of probing a path in a report.

use super::both_ends_section;
use crate::export::page::{Block, CaptionedPath, Cell, Table, TableColumn};
use crate::export::wording::{self, about, count};
use caudal_core::path::{
    HopAnswering, HostAnswer, MtuEvidence, PathDirection, PathHop, PathLink, PathMtu, PathReport,
    RouteCount,
};
use caudal_core::quantity::{EstimateInUnit, Unit, size};
use caudal_core::units::BitRate;
use caudal_plot::{PathFigure, PathFigureHop, PathFigureLink, PathFigureMark};

/// The width of the figure on a screen, px.
const WIDTH: u32 = 800;

/// The results in sentences, the narrow link first.
pub fn sentences(report: &PathReport) -> Vec<String> {
    // Where both ends were asked alone, no link was measured by its hops.
    let is_measured = !report.links.is_empty() || report.duplex.is_none();
    // What both ends found is a sentence of its own, and the narrow link that counts.
    let ends = report.between_ends.iter().flat_map(|ends| &ends.directions);
    let is_known_by_ends = ends.filter_map(PathDirection::sustained_bps).count() > 0;
    let is_measured = is_measured && (!is_known_by_ends || report.narrow_hop_link().is_some());
    let sentences = [
        is_measured.then(|| narrow_link(report)),
        host_sentence(report),
        report.mtu.as_ref().map(path_mtu),
        report.routes.map(routes),
    ];
    let cut_short = report.cut_short.as_ref();
    let cut_short = cut_short.map(|why| format!("probing ended early: {why}"));
    let sentences = sentences.into_iter().flatten().chain(cut_short);
    sentences.map(|text| wording::sentence(&text)).collect()
}

fn narrow_link(report: &PathReport) -> String {
    let Some(narrow) = &report.narrow else {
        let why = report.narrow_unknown.as_ref();
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        return format!("the narrow link could not be found{why}");
    };
    let from_ttl = report.link(narrow.ttl).map_or(0, |link| link.from_ttl);
    let from = near_end(from_ttl);
    let capacity = &narrow.capacity_bps;
    let shown = EstimateInUnit::new(capacity, Unit::BitPerSecond);
    let interval = shown
        .confidence_interval()
        .map_or_else(String::new, |interval| format!(" ({interval})"));
    let others: Vec<String> = narrow
        .contested_by
        .iter()
        .map(|ttl| format!("hop {ttl}"))
        .collect();
    let others = match others.as_slice() {
        [] => String::new(),
        others => format!("; what leads to {} may be as narrow", wording::list(others)),
    };
    format!(
        "the narrow link is that from {from} to hop {}: {}{interval}{others}",
        narrow.ttl,
        shown.mean()
    )
}

/// The hop of this TTL, or this machine.
fn near_end(ttl: u8) -> String {
    match ttl {
        0 => "this machine".to_owned(),
        ttl => format!("hop {ttl}"),
    }
}

/// The round-trip time of the host, or what is known instead.
fn host_sentence(report: &PathReport) -> Option<String> {
    if let Some(found) = &report.routing_loop {
        let addresses: Vec<String> = found.addresses.iter().map(ToString::to_string).collect();
        let routers = wording::list(&addresses);
        return Some(format!(
            "a routing loop between {routers} keeps packets from the host"
        ));
    }
    if let Some(refusal) = &report.refusal {
        return Some(format!("{} says: {}", refusal.address, refusal.reason));
    }
    let answer = match report.host_answer {
        _ if report.hops.is_empty() => return None,
        HostAnswer::Refused => "a router or firewall refuses probes to the host",
        HostAnswer::Nothing => "the host does not answer",
        HostAnswer::PortUnreachable => {
            let rtt = report.host()?.times_ms()?;
            let time = |ms: f64| about(ms / 1e3, Unit::Seconds);
            return Some(format!(
                "the host answers after {} at least, {} on average and {} at most",
                time(rtt.min),
                time(rtt.mean),
                time(rtt.max)
            ));
        }
    };
    Some(answer.to_owned())
}

fn path_mtu(mtu: &PathMtu) -> String {
    let place = mtu
        .shrinks_before_ttl
        .map_or_else(String::new, |ttl| format!(" before hop {ttl}"));
    let why = match mtu.evidence {
        MtuEvidence::WholeMtu => "that of this machine's link".to_owned(),
        MtuEvidence::Icmp => format!("a router{place} says so"),
        MtuEvidence::Unanswered => format!("larger packets are lost{place} without a word"),
    };
    format!("the path MTU is {}: {why}", size(mtu.bytes))
}

fn routes(routes: RouteCount) -> String {
    let doubt = if routes.is_complete {
        ""
    } else {
        ", perhaps more"
    };
    let flows = count(u64::from(routes.flows), "flow");
    let routes = count(u64::from(routes.routes), "route");
    format!("there are {routes} among {flows}{doubt}").replace("are 1 route ", "is one route ")
}

/// The figure of the path; `None` without hops.
pub fn figure(report: &PathReport) -> Option<CaptionedPath> {
    let first = report.hops.first()?;
    let host = &report.target.host;
    let title = match report.target.address {
        Some(address) if *host != *address.to_string() => format!("Path to {host} ({address})"),
        _ => format!("Path to {host}"),
    };
    let answers = |hop: &&PathHop| hop.answering != HopAnswering::NothingFromHere;
    let known: Vec<&PathHop> = report.hops.iter().take_while(answers).collect();
    let rest = report.hops.get(known.len()).map(|hop| PathFigureHop {
        number: match report.hops.last() {
            Some(last) if last.ttl > hop.ttl => format!("{}–{}", hop.ttl, last.ttl),
            _ => hop.ttl.to_string(),
        },
        name: "nothing answers".to_owned(),
        detail: String::new(),
        mark: PathFigureMark::Silent,
        link: figure_link(report, hop),
    });
    let hops = known.into_iter().map(|hop| figure_hop(report, hop));
    let source = near_end(first.ttl.saturating_sub(1));
    Some(CaptionedPath {
        name: "01-path".to_owned(),
        figure: PathFigure {
            title,
            description: sentences(report).join(" "),
            width: WIDTH,
            source,
            hops: hops.chain(rest).collect(),
            note: Some(both_ends_section::sentences(report).join(" ")).filter(|text| !text.is_empty()),
        },
        caption: "A link ten times as fast is a wider line. Dashed: what does not answer, and links whose rate is not known."
            .to_owned(),
    })
}

fn figure_hop(report: &PathReport, hop: &PathHop) -> PathFigureHop {
    let is_host = report.host().is_some_and(|host| host.ttl == hop.ttl);
    let time = |ms: f64| about(ms / 1e3, Unit::Seconds);
    let rtt = hop.times_ms().map(|rtt| {
        let (min, mean, max) = (time(rtt.min), time(rtt.mean), time(rtt.max));
        format!("RTT {min} / {mean} / {max}")
    });
    let detail: Vec<String> = rtt.into_iter().chain(loss(hop)).collect();
    let is_silent = hop.address.is_none() && hop.name.is_none();
    PathFigureHop {
        link: figure_link(report, hop),
        number: hop.ttl.to_string(),
        name: title(hop),
        detail: if is_silent {
            String::new()
        } else {
            detail.join(", ")
        },
        mark: match (is_silent, is_host) {
            (true, _) => PathFigureMark::Silent,
            (false, true) => PathFigureMark::Host,
            (false, false) => PathFigureMark::Router,
        },
    }
}

/// The loss at a hop that answers, or that it limits its answers.
fn loss(hop: &PathHop) -> Option<String> {
    match hop.answering {
        HopAnswering::Answers => Some(format!("loss {}", about(hop.loss()?, Unit::Share))),
        HopAnswering::RateLimited => Some("rate-limited".to_owned()),
        HopAnswering::Silent | HopAnswering::NothingFromHere => None,
    }
}

/// The address of a hop with its name.
fn title(hop: &PathHop) -> String {
    match (hop.address, &hop.name) {
        (Some(address), Some(name)) => format!("{address} ({name})"),
        (Some(address), None) => address.to_string(),
        (None, _) => "does not answer".to_owned(),
    }
}

/// The link that leads to a hop. Where it leads beyond the hop, which does not answer, it has its words at its far end only.
fn figure_link(report: &PathReport, hop: &PathHop) -> PathFigureLink {
    let spans = |link: &&PathLink| link.from_ttl < hop.ttl && hop.ttl <= link.ttl;
    let known = |link: &&PathLink| link.capacity_bps.is_some() || link.at_least_bps.is_some();
    let over = report.links.iter().filter(spans).find(known);
    let link = report.link(hop.ttl).filter(known).or(over);
    let narrow = report.narrow_hop_link().map(|narrow| narrow.ttl);
    let of_hop = report.link(hop.ttl);
    let is_narrow = link.is_some_and(|link| narrow == Some(link.ttl));
    PathFigureLink {
        label: of_hop.map_or_else(String::new, |link| {
            let name = if is_narrow { "narrow link: " } else { "" };
            format!("{name}{}", link_words(link))
        }),
        rate_bps: link.and_then(|link| {
            let bound = link.at_least_bps.map(BitRate::as_f64);
            link.capacity_bps.map(|capacity| capacity.mean).or(bound)
        }),
        is_narrow,
    }
}

fn link_words(link: &PathLink) -> String {
    let (capacity, interval) = link.capacity_and_interval();
    let interval = interval.map_or_else(String::new, |interval| format!(" ({interval})"));
    let capacity = capacity.map_or_else(String::new, |capacity| format!("{capacity}{interval}, "));
    let place = if link.from_ttl.saturating_add(1) < link.ttl {
        format!("from {}: ", near_end(link.from_ttl))
    } else {
        String::new()
    };
    format!("{place}{capacity}{}", link.class.name())
}

/// A row a hop, with the link that leads to it; `None` without hops.
pub fn table(report: &PathReport) -> Option<Block> {
    if report.hops.is_empty() {
        return None;
    }
    let mut rows = Vec::new();
    for hop in &report.hops {
        if hop.answering == HopAnswering::NothingFromHere {
            let cells = vec![Cell::new("nothing answers from here on")];
            rows.push((hop.ttl.to_string(), padded(cells)));
            break;
        }
        rows.push((hop.ttl.to_string(), padded(cells(report, hop))));
    }
    let mut columns = vec![TableColumn::words("address")];
    columns.extend(["loss", "RTT min", "avg", "max", "capacity"].map(TableColumn::number));
    columns.push(TableColumn::words("link to it"));
    Some(Block::Table(Table {
        caption: "Each hop, and the link that leads to it".to_owned(),
        corner: "hop".to_owned(),
        columns,
        rows,
        note: Some(format!(
            "The capacity is that in the direction of the probes, in frames on the wire, with its {} interval.",
            wording::level(report.confidence)
        )),
    }))
}

/// The columns of the table beside that of the hops' numbers.
const COLUMNS: usize = 7;

fn padded(mut cells: Vec<Cell>) -> Vec<Cell> {
    cells.resize(COLUMNS, Cell::default());
    cells
}

fn cells(report: &PathReport, hop: &PathHop) -> Vec<Cell> {
    let time = |ms: f64| about(ms / 1e3, Unit::Seconds);
    let rtt = hop
        .times_ms()
        .map(|rtt| [rtt.min, rtt.mean, rtt.max].map(time));
    let loss = match hop.answering {
        HopAnswering::Answers => hop.loss().map(|loss| about(loss, Unit::Share)),
        HopAnswering::RateLimited => Some("rate-limited".to_owned()),
        HopAnswering::Silent | HopAnswering::NothingFromHere => None,
    };
    let others: Vec<String> = hop
        .other_addresses
        .iter()
        .map(ToString::to_string)
        .collect();
    let address = Cell {
        text: title(hop),
        beside: (!others.is_empty()).then(|| format!("other flows: {}", others.join(", "))),
        mark: None,
    };
    let mut cells = vec![address, Cell::new(loss.unwrap_or_default())];
    cells.extend(rtt.unwrap_or_default().map(Cell::new));
    let Some(link) = report.link(hop.ttl) else {
        return cells;
    };
    let (capacity, interval) = link.capacity_and_interval();
    cells.push(Cell {
        text: capacity.unwrap_or_default(),
        beside: interval,
        mark: None,
    });
    let narrow = match report.narrow_hop_link().map(|narrow| narrow.ttl) {
        Some(ttl) if ttl == link.ttl => "; the narrow link",
        _ if report.may_be_narrow(link.ttl) => "; perhaps the narrow link",
        _ => "",
    };
    cells.push(Cell {
        text: format!("{}{narrow}", link.class.name()),
        beside: Some(link.reason.to_string()).filter(|reason| !reason.is_empty()),
        mark: None,
    });
    cells
}

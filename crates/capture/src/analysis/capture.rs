//! The analysis of a capture in one or several files.

use super::frames::FrameAnalysis;
use super::totals::Totals;
use crate::detail::FlowDetail;
use crate::error::CaptureError;
use crate::model::{CaptureFile, CaptureFormat, CaptureSummary, Finding, FindingCode, PCAP_SCHEMA};
use crate::options::AnalysisOptions;
use crate::read::{CapturedFrame, FileInterface, FrameReader, LinkType};
use caudal_core::quantity::Unit;
use caudal_core::text::ExternalText;
use caudal_core::units::ByteCount;

/// Maximum number of link types that a finding names.
const MAX_LINKS: usize = 4;

/// What a capture shows.
#[derive(Debug, Clone, PartialEq)]
pub struct CaptureReport {
    /// The document.
    pub summary: CaptureSummary,
    /// The flow asked for in detail; absent when none was, or there is no such flow.
    pub detail: Option<FlowDetail>,
}

/// The analysis of a capture, which is handed the bytes of its files in pieces of any size.
///
/// ```
/// # use caudal_capture::{AnalysisOptions, CaptureAnalysis};
/// # fn demo(pieces: &[&[u8]]) -> Result<(), caudal_capture::CaptureError> {
/// let mut analysis = CaptureAnalysis::new(&AnalysisOptions::default());
/// analysis.begin_file("test.pcap".into());
/// for piece in pieces {
///     analysis.push(piece)?;
/// }
/// let report = analysis.finish();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CaptureAnalysis {
    frames: FrameAnalysis,
    files: Vec<CaptureFile>,
    open: Option<OpenFile>,
    findings: Vec<Finding>,
}

#[derive(Debug)]
struct OpenFile {
    name: ExternalText,
    reader: FrameReader,
    first_frame: u64,
    error: Option<CaptureError>,
}

impl CaptureAnalysis {
    /// An analysis of nothing yet.
    #[must_use]
    pub fn new(options: &AnalysisOptions) -> Self {
        Self {
            frames: FrameAnalysis::new(options),
            files: Vec::new(),
            open: None,
            findings: Vec::new(),
        }
    }

    /// Begins the next file; the one before it ends.
    pub fn begin_file(&mut self, name: ExternalText) {
        self.end_file();
        self.frames.begin_file();
        self.open = Some(OpenFile {
            name,
            reader: FrameReader::new(),
            first_frame: self.frames.totals.next_number(),
            error: None,
        });
    }

    /// Takes in the next bytes of the file.
    ///
    /// # Errors
    /// When the file is no capture. Damage further on is no error: what came before counts, and a finding reports it.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), CaptureError> {
        let Some(file) = &mut self.open else {
            return Ok(());
        };
        let frames = &mut self.frames;
        let outcome = file.reader.push(bytes, &mut |frame| frames.frame(frame));
        let Err(error) = outcome else { return Ok(()) };
        if file.reader.header().is_none() {
            self.open = None;
            return Err(error);
        }
        file.error = Some(error);
        Ok(())
    }

    /// Notes that the rest of the file cannot be had, for a reason that lies outside it, such as its compression.
    pub fn damaged(&mut self, what: &'static str) {
        if let Some(file) = &mut self.open {
            let offset = file.reader.offset();
            file.error
                .get_or_insert(CaptureError::Damaged { offset, what });
        }
    }

    /// Takes in a frame that comes from no file.
    pub fn frame(&mut self, frame: &CapturedFrame<'_>) {
        self.frames.frame(frame);
    }

    /// Frames so far.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames.totals.next_number() - 1
    }

    fn end_file(&mut self) {
        let Some(mut file) = self.open.take() else {
            return;
        };
        let error = file.error.or_else(|| file.reader.finish().err());
        if let Some(error) = &error {
            let message = format!("{}: {error}", file.name);
            let mut finding = Finding::new(FindingCode::CutShort, message);
            let last = self.frames.totals.next_number() - 1;
            finding.frames = if last >= file.first_frame {
                vec![last]
            } else {
                Vec::new()
            };
            self.findings.push(finding);
        }
        let Some(header) = file.reader.header() else {
            return;
        };
        let next = self.frames.totals.next_number();
        self.files.push(CaptureFile {
            name: file.name,
            format: header.format,
            big_endian: header.order == crate::bytes::ByteOrder::Big,
            interfaces: header
                .interfaces
                .iter()
                .map(FileInterface::document)
                .collect(),
            frames: next - file.first_frame,
            first_frame: (next > file.first_frame).then_some(file.first_frame),
            file_bytes: ByteCount::new(file.reader.offset()),
            comments: header.comments.clone(),
            hardware: header.hardware.clone(),
            os: header.os.clone(),
            program: header.program.clone(),
            cut_short: error.map(|error| error.to_string().into()),
        });
    }

    /// Ends the capture.
    #[must_use]
    pub fn finish(mut self) -> CaptureReport {
        self.end_file();
        self.frames.finish();
        let detail = self.frames.flows.finish();
        let dropped = self.dropped();
        self.whole_capture(dropped);
        let FrameAnalysis {
            totals,
            flows,
            clock,
            ..
        } = self.frames;
        let mut ranking = flows.findings;
        for finding in self.findings {
            ranking.push(finding);
        }
        let (shown, folded) = flows.ranking.finish();
        if let Some(folded) = &folded {
            let (n, bytes) = (folded.flows, folded.bytes);
            ranking.push(Finding::new(
                FindingCode::FlowsFolded,
                format!("{n} flows with {bytes} together are not shown one by one"),
            ));
        }
        let (findings, findings_left_out) = ranking.finish();
        let summary = CaptureSummary {
            schema: PCAP_SCHEMA.to_owned(),
            files: self.files,
            totals: totals.document(flows.count, dropped, &clock),
            protocols: totals.protocols(),
            flows: shown,
            folded,
            findings,
            findings_left_out,
        };
        CaptureReport { summary, detail }
    }

    /// Frames dropped while capturing, as far as the files record them.
    fn dropped(&self) -> Option<u64> {
        self.files
            .iter()
            .flat_map(|file| &file.interfaces)
            .filter_map(|interface| interface.dropped_frames)
            .reduce(u64::saturating_add)
    }

    /// The findings about the capture as a whole.
    fn whole_capture(&mut self, dropped: Option<u64>) {
        let totals = &self.frames.totals;
        let log = &totals.evidence;
        let mut found = Vec::new();
        if totals.next_number() == 1 + totals.filtered {
            found.push(Finding::new(
                FindingCode::NothingCaptured,
                match totals.filtered {
                    0 => "there is no frame".to_owned(),
                    n => format!("the filter takes none of the {n} frames"),
                },
            ));
        }
        if let Some(dropped) = dropped.filter(|dropped| *dropped > 0) {
            let mut finding = Finding::new(
                FindingCode::FramesDropped,
                format!("{dropped} frames were dropped while capturing"),
            );
            finding.count = dropped;
            found.push(finding);
        }
        let n = totals.without_options();
        if n > 0 {
            let mut finding = Finding::new(
                FindingCode::FramesCutOff,
                format!(
                    "fewer than {} bytes of {n} frames were kept: options of TCP may be missing",
                    Totals::ENOUGH_BYTES
                ),
            );
            finding.count = n;
            found.push(finding);
        }
        let seen = |code: FindingCode, words: &str| {
            let count = log.of(&code).map(|evidence| evidence.count);
            count.map(|count| log.finding(code, format!("{count} {words}")))
        };
        found.extend(seen(
            FindingCode::MalformedFrames,
            "frames are not what their headers announce",
        ));
        found.extend(seen(
            FindingCode::HeadersCutOff,
            "frames were cut off within their headers",
        ));
        found.extend(seen(
            FindingCode::TimeBackwards,
            "frames are older than the one before them",
        ));
        found.extend(seen(FindingCode::NoTimes, "frames have no time"));
        let (unread, read) = self.links();
        found.extend(seen(
            FindingCode::UnknownLinkType,
            &format!("frames have {unread}, which is not read"),
        ));
        let holds = &log.finding(FindingCode::Concatenated, String::new());
        if let Some(frame) = holds.frames.first() {
            let n = holds.count;
            let more = if n == 1 {
                "one more"
            } else {
                &format!("{n} more")
            };
            let message = format!(
                "a capture is followed by {more} in the same file, from frame {frame} on; they are read as one"
            );
            found.push(log.finding(FindingCode::Concatenated, message));
        }
        found.extend(self.clock_set());
        found.extend(self.captured_twice());
        let frames = totals.next_number() - 1;
        if frames > 0 && totals.filtered == 0 && self.frames.flows.count == 0 && read {
            let others = totals.others();
            let others = match others.is_empty() {
                true => String::new(),
                false => format!(": {}", others.join(", ")),
            };
            let message =
                format!("none of the {frames} frames holds a packet that could be read{others}");
            let mut finding = Finding::new(FindingCode::NoFlow, message);
            finding.frames = vec![1];
            found.push(finding);
        }
        self.findings.extend(found);
    }

    /// The link types that are not read, in words, and whether there are frames of others.
    fn links(&self) -> (String, bool) {
        let interfaces = self.files.iter().flat_map(|file| &file.interfaces);
        let (mut unread, mut read) = (Vec::new(), false);
        for interface in interfaces.filter(|interface| interface.frames > 0) {
            match LinkType::from_number(interface.link_type) {
                LinkType::Other(number) => {
                    let text = format!("the link type {number} ({})", interface.link_name);
                    if !unread.contains(&text) && unread.len() < MAX_LINKS {
                        unread.push(text);
                    }
                }
                _ => read = true,
            }
        }
        (unread.join(" or "), read)
    }

    /// The finding about a clock that was set.
    fn clock_set(&self) -> Option<Finding> {
        let (log, steps) = (&self.frames.totals.evidence, &self.frames.steps);
        let evidence = log.of(&FindingCode::ClockSet)?;
        let frame = evidence.frames().first().copied()?;
        let seconds = steps.first_ns.unsigned_abs() as f64 / 1e9;
        let way = if steps.first_ns < 0 { "back" } else { "on" };
        let by = Unit::Seconds.show(seconds);
        let more = match evidence.count {
            1 => String::new(),
            n => format!(", and {} times more", n - 1),
        };
        let between = match steps.between_captures {
            0 => "the clock was set",
            n if n == evidence.count => "another capture begins there, whose flows count anew",
            _ => "the clock was set, or another capture begins there, whose flows count anew",
        };
        Some(log.finding(
            FindingCode::ClockSet,
            format!("at frame {frame} the time jumps {way} by {by}{more}: {between}"),
        ))
    }

    /// The finding about packets that were captured twice.
    fn captured_twice(&self) -> Option<Finding> {
        let log = &self.frames.totals.evidence;
        let n = log.of(&FindingCode::DuplicateFrames)?.count;
        let again = match self.frames.again {
            0 => String::new(),
            again if again == n => {
                "; whether the way duplicated them, the capture does not tell".to_owned()
            }
            again => {
                format!("; whether the way duplicated {again} of them, the capture does not tell")
            }
        };
        let frames = if n == 1 { "frame was" } else { "frames were" };
        let message = format!("{n} {frames} captured twice: each packet counts once{again}");
        Some(log.finding(FindingCode::DuplicateFrames, message))
    }
}

impl CaptureFormat {
    /// The name that people read.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PcapMicroseconds => "pcap (µs)",
            Self::PcapNanoseconds => "pcap (ns)",
            Self::Pcapng => "pcapng",
        }
    }
}

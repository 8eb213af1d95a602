//! The headers above columns.

/// The header above lines of the same columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnHeader {
    Plain,
    Udp,
    DuplexSum,
    SumOnly,
    TcpWrite,
    TcpRead,
    TcpBursts,
    UdpWrite,
    UdpRead,
    Bounceback,
}

impl ColumnHeader {
    const fn text(self) -> &'static str {
        match self {
            Self::Plain => "[ ID] Interval       Transfer     Bandwidth\n",
            Self::Udp => {
                "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n"
            }
            Self::DuplexSum => "[ ID] Interval       Transfer     Bandwidth    Datagrams   PPS\n",
            Self::SumOnly => "[SUM-cnt] Interval       Transfer     Bandwidth\n",
            Self::TcpWrite => {
                "[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr\n"
            }
            Self::TcpRead => "[ ID] Interval            Transfer    Bandwidth       Reads=Dist\n",
            Self::TcpBursts => {
                "[ ID] Interval            Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size) inP NetPwr  Reads=Dist\n"
            }
            Self::UdpWrite => {
                "[ ID] Interval            Transfer     Bandwidth      Write/Err  PPS\n"
            }
            Self::Bounceback => {
                "[ ID] Interval            Transfer    Bandwidth         BB cnt=avg/min/max/stdev    RPS\n"
            }
            Self::UdpRead => {
                "[ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS  Rx/inP  NetPwr\n"
            }
        }
    }
}

/// Text in columns, with a header above the first line of each kind since a connection was shown.
#[derive(Debug, Default)]
pub(super) struct HeadedText {
    text: String,
    /// The headers that were shown.
    shown: Vec<ColumnHeader>,
}

impl HeadedText {
    /// Puts this header above the next lines, unless it was shown.
    pub(super) fn head(&mut self, header: ColumnHeader) {
        if !self.shown.contains(&header) {
            self.shown.push(header);
            self.text.push_str(header.text());
        }
    }

    /// Has headers shown again above the next lines.
    pub(super) fn forget_headers(&mut self) {
        self.shown.clear();
    }

    /// Appends a line.
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Appends lines, each with its end.
    pub(super) fn lines(&mut self, lines: &str) {
        self.text.push_str(lines);
    }

    /// Takes the text so far.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }
}

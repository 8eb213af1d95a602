//! What is asked of whom: the cases as values.

/// The protocol both ends speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Iperf3,
    Iperf2,
}

impl Tool {
    /// The program of that tool, as Debian names it.
    pub fn program(self) -> &'static str {
        match self {
            Self::Iperf3 => "iperf3",
            Self::Iperf2 => "iperf",
        }
    }
}

/// A command that takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// The installed tool.
    Real,
    /// `caudal iperf3` or `caudal iperf`.
    Compatible,
    /// `caudal tcp` or `caudal udp` with `--as`.
    Native,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    Udp,
}

/// Who sends, and how the tool is asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directions {
    Up,
    Down,
    /// Both at once.
    Both,
    /// iperf 2's `-d`: both at once, and the server connects back.
    Dual,
    /// iperf 2's `-r`: one after the other, and the server connects back.
    Tradeoff,
}

impl Directions {
    pub fn has_up(self) -> bool {
        self != Self::Down
    }

    pub fn has_down(self) -> bool {
        self != Self::Up
    }

    pub fn connects_back(self) -> bool {
        matches!(self, Self::Dual | Self::Tradeoff)
    }
}

/// What ends the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    OneSecond,
    Bytes(u64),
    Blocks(u64),
}

/// The payload of a datagram.
pub const DATAGRAM: u64 = 1000;
/// What the tools write at once over TCP.
pub const BLOCK: u64 = 128 << 10;
/// The rate of each flow where one is set.
const RATE: u64 = 20_000_000;

#[derive(Debug, Clone)]
pub struct Case {
    pub tool: Tool,
    pub client: Command,
    pub server: Command,
    pub transport: Transport,
    pub directions: Directions,
    pub flows: u64,
    pub until: Until,
    /// Bits per second of each flow; `None` is what the tool does when nothing is said.
    pub rate: Option<u64>,
}

impl Case {
    pub fn takes_the_real_tool(&self) -> bool {
        self.client == Command::Real || self.server == Command::Real
    }

    /// Whether the tools themselves can be relied on in it.
    ///
    /// iperf 2's server loses some of three flows that it is to call back, and tells nobody what it received over a connection
    /// that it sends on as well: what its kernel acknowledged is all that our own client can show.
    fn is_reliable(&self) -> bool {
        let is_lost = self.directions.connects_back() && self.flows > 1;
        let is_untold = self.client == Command::Native
            && self.directions == Directions::Both
            && self.transport == Transport::Tcp;
        self.tool == Tool::Iperf3 || !(is_lost || is_untold)
    }

    /// The bytes of what is counted one by one.
    pub fn unit(&self) -> u64 {
        match self.transport {
            Transport::Tcp => BLOCK,
            Transport::Udp => DATAGRAM,
        }
    }

    /// The bytes asked for, where the end is no time.
    pub fn amount(&self) -> Option<u64> {
        match self.until {
            Until::OneSecond => None,
            Until::Bytes(bytes) => Some(bytes),
            Until::Blocks(blocks) => Some(blocks * self.unit()),
        }
    }

    /// A name that says all of it.
    pub fn name(&self) -> String {
        let end = match self.until {
            Until::OneSecond => "time",
            Until::Bytes(_) => "bytes",
            Until::Blocks(_) => "blocks",
        };
        let rate = self
            .rate
            .map_or(String::new(), |rate| format!("_{}m", rate / 1_000_000));
        format!(
            "{:?}_{:?}_to_{:?}_{:?}_{:?}_{}_{end}{rate}",
            self.tool, self.client, self.server, self.transport, self.directions, self.flows
        )
        .to_lowercase()
    }

    /// The client's words after those that name the server, in what the tools have in common.
    pub fn words(&self) -> Vec<String> {
        let mut words = match self.until {
            Until::OneSecond => vec!["-t".to_owned(), "1".to_owned()],
            Until::Bytes(bytes) => vec!["-n".to_owned(), bytes.to_string()],
            Until::Blocks(blocks) => vec!["-k".to_owned(), blocks.to_string()],
        };
        words.extend(["-P".to_owned(), self.flows.to_string()]);
        if let Some(rate) = self.rate {
            words.extend(["-b".to_owned(), rate.to_string()]);
        }
        if self.transport == Transport::Udp {
            words.extend(["-l".to_owned(), DATAGRAM.to_string()]);
        }
        let direction = match (self.directions, self.tool, self.client) {
            (Directions::Up, ..) => None,
            (Directions::Down, ..) => Some("-R"),
            (Directions::Both, Tool::Iperf2, Command::Real | Command::Compatible) => {
                Some("--full-duplex")
            }
            (Directions::Both, ..) => Some("--bidir"),
            (Directions::Dual, ..) => Some("-d"),
            (Directions::Tradeoff, ..) => Some("-r"),
        };
        words.extend(direction.map(str::to_owned));
        words
    }
}

/// The end, the flows and whether there is a rate: every pair of two of them is met.
fn shapes(transport: Transport, is_iperf3: bool) -> Vec<(Until, u64, Option<u64>)> {
    let blocks = |rate: Option<u64>| match (transport, rate) {
        // Multiples of three: the amount is each flow's share in some protocols.
        (Transport::Tcp, Some(_)) => 12,
        (Transport::Tcp, None) => 99,
        (Transport::Udp, Some(_)) => 600,
        (Transport::Udp, None) => 51,
    };
    let unit = match transport {
        Transport::Tcp => BLOCK,
        Transport::Udp => DATAGRAM,
    };
    let mut shapes = vec![
        (Until::OneSecond, 1, Some(RATE)),
        (Until::OneSecond, 3, None),
        (Until::Bytes(blocks(None) * unit), 1, None),
        (Until::Bytes(blocks(Some(RATE)) * unit), 3, Some(RATE)),
    ];
    if is_iperf3 {
        shapes.extend([
            (Until::Blocks(blocks(Some(RATE))), 1, Some(RATE)),
            (Until::Blocks(blocks(None)), 3, None),
        ]);
    }
    shapes
}

/// All cases.
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for tool in [Tool::Iperf3, Tool::Iperf2] {
        for (client, server) in [
            (Command::Real, Command::Compatible),
            (Command::Compatible, Command::Real),
            (Command::Native, Command::Real),
            (Command::Compatible, Command::Compatible),
        ] {
            between(tool, client, server, &mut cases);
        }
    }
    cases
}

fn between(tool: Tool, client: Command, server: Command, cases: &mut Vec<Case>) {
    let mut ways = vec![Directions::Up, Directions::Down, Directions::Both];
    if tool == Tool::Iperf2 && client != Command::Native {
        ways.extend([Directions::Dual, Directions::Tradeoff]);
    }
    let case = |transport, directions, (until, flows, rate)| Case {
        tool,
        client,
        server,
        transport,
        directions,
        flows,
        until,
        rate,
    };
    for transport in [Transport::Tcp, Transport::Udp] {
        for &directions in &ways {
            let has_blocks = tool == Tool::Iperf3 && client != Command::Native;
            for shape in shapes(transport, has_blocks) {
                let case = case(transport, directions, shape);
                if case.is_reliable() {
                    cases.push(case);
                }
            }
        }
    }
    // A block is a quarter of a second and more: whether blocks are whole is seen in the bytes.
    // iperf 2 refuses a rate of less than a block in a second.
    let slow = match tool {
        Tool::Iperf3 => 1_000_000,
        Tool::Iperf2 => 4_000_000,
    };
    for (directions, rate) in [(Directions::Up, 4_000_000), (Directions::Down, slow)] {
        let shape = (Until::OneSecond, 1, Some(rate));
        cases.push(case(Transport::Tcp, directions, shape));
    }
}

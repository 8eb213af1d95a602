//! What one end's report says of a test, in one form for all tools.

/// One direction, as one end tells it; `None` is what it does not tell.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures {
    /// Payload bytes the sender sent.
    pub sent: Option<u64>,
    /// Payload bytes the receiver received.
    pub received: Option<u64>,
    /// Datagrams the receiver calls lost.
    pub lost: Option<u64>,
}

impl Figures {
    /// Adds those of one more flow.
    pub fn add(&mut self, other: Self) {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        self.sent = sum(self.sent, other.sent);
        self.received = sum(self.received, other.received);
        self.lost = sum(self.lost, other.lost);
    }
}

/// Both directions, seen from the client.
#[derive(Debug, Clone, Copy, Default)]
pub struct Account {
    pub up: Figures,
    pub down: Figures,
    /// How many flows ended, whatever their direction.
    pub flows: usize,
}

/// Which end an account is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Client,
    Server,
}

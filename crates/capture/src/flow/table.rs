//! The flows that are open.

use super::key::FlowTuple;
use super::state::FlowState;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// The flows that are open, found by their key.
#[derive(Debug, Default)]
pub(crate) struct FlowTable {
    places: HashMap<FlowTuple, usize, RandomState>,
    flows: Vec<Option<Box<FlowState>>>,
    free: Vec<usize>,
    /// The flow of the frame before: most frames belong to it.
    latest: Option<(FlowTuple, usize)>,
}

impl FlowTable {
    /// The place of a flow.
    #[inline]
    pub(crate) fn find(&mut self, tuple: &FlowTuple) -> Option<usize> {
        if let Some((latest, place)) = &self.latest
            && latest == tuple
        {
            return Some(*place);
        }
        let place = *self.places.get(tuple)?;
        self.latest = Some((*tuple, place));
        Some(place)
    }

    /// The flow at a place.
    #[inline]
    pub(crate) fn get(&mut self, place: usize) -> Option<&mut FlowState> {
        self.flows.get_mut(place)?.as_deref_mut()
    }

    /// Adds a flow, in the place of another with its key.
    pub(crate) fn insert(&mut self, flow: FlowState) -> usize {
        let tuple = flow.tuple;
        self.remove(&tuple);
        let place = self.free.pop().unwrap_or_else(|| {
            self.flows.push(None);
            self.flows.len() - 1
        });
        self.flows[place] = Some(Box::new(flow));
        self.places.insert(tuple, place);
        self.latest = Some((tuple, place));
        place
    }

    /// Removes a flow.
    pub(crate) fn remove(&mut self, tuple: &FlowTuple) -> Option<Box<FlowState>> {
        self.latest = None;
        let place = self.places.remove(tuple)?;
        self.free.push(place);
        self.flows[place].take()
    }

    /// The number of flows.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Removes a quarter of the flows: those that are over, then those that were silent for longest.
    #[expect(
        clippy::vec_box,
        reason = "flows out of their boxes would be copied, all of them"
    )]
    pub(crate) fn evict(&mut self) -> Vec<Box<FlowState>> {
        let mut order: Vec<(bool, u64, FlowTuple)> = self
            .flows
            .iter()
            .flatten()
            .map(|flow| (!flow.is_over(), flow.last_ns, flow.tuple))
            .collect();
        let count = order.len().div_ceil(4);
        if count < order.len() {
            order.select_nth_unstable_by_key(count, |(open, last_ns, _)| (*open, *last_ns));
            order.truncate(count);
        }
        order
            .iter()
            .filter_map(|(_, _, tuple)| self.remove(tuple))
            .collect()
    }

    /// Removes all flows, in the order of their numbers.
    #[expect(
        clippy::vec_box,
        reason = "flows out of their boxes would be copied, all of them"
    )]
    pub(crate) fn drain(&mut self) -> Vec<Box<FlowState>> {
        self.latest = None;
        self.places.clear();
        self.free.clear();
        let mut flows: Vec<_> = std::mem::take(&mut self.flows)
            .into_iter()
            .flatten()
            .collect();
        flows.sort_unstable_by_key(|flow| flow.number);
        flows
    }
}

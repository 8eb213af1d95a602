//! The admission of clients: from which networks, how many at once, how many of one source, and which give way to others.

mod activity;
mod admission;
mod not_admitted;
mod places;

pub use activity::PlaceActivity;
pub use admission::{Admission, ClientSlot};
pub use not_admitted::NotAdmitted;
pub(crate) use places::choose_to_give_way;
pub use places::{NoPlace, Place, PlaceLimits, Places, Release};

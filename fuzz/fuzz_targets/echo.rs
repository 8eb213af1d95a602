//! The announcements, numbers and times of an echo test.
#![no_main]

use caudal_wire::echo::{
    ANNOUNCEMENT_BYTES, Announcement, Stamps, carries_number, number_up_to, stamp_reply,
    write_number,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u32, u64, &[u8])| {
    let (largest, latest, bytes) = input;
    if let Some(bytes) = bytes.first_chunk::<ANNOUNCEMENT_BYTES>()
        && let Some(announcement) = Announcement::decode(bytes, largest)
    {
        assert!(announcement.size >= 1 && announcement.size <= largest);
        assert_eq!(announcement.encode(), *bytes);
    }
    if let Some(number) = number_up_to(bytes, latest) {
        assert!(number <= latest);
        assert!(carries_number(bytes, number));
    }
    let mut message = bytes.to_vec();
    write_number(&mut message, latest);
    assert!(message.is_empty() || number_up_to(&message, latest) == Some(latest));
    stamp_reply(&mut message, 1, 2);
    let _ = Stamps::read(&message);
});

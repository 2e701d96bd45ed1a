use proptest::prelude::*;

use super::*;

fn residue() -> impl Strategy<Value = Residue> {
    let codes = (0..=4_u8, 0..=17_u8);
    (any::<u32>(), any::<u16>(), codes, any::<[u8; 4]>()).prop_map(
        |(until, crawl_delay, (drained, error), counters)| Residue {
            until: Moment(until.into()),
            stamp: 0,
            crawl_delay,
            drained,
            error: if drained == 0 { 0 } else { error },
            failures: counters[0],
            transient_failures: counters[1],
            slow_downs: counters[2],
            unanswered: counters[3],
        },
    )
}

proptest! {
    /// What is written comes back; times move with the process's own time.
    #[test]
    fn entries_come_back(key: u64, residue in residue(), records: u32, later in 0..1_000_000_u64) {
        let entry = Entry { key, residue, records: records.into() };
        let mut bytes = Vec::new();
        let epoch = 1_700_000_000_000_000;
        prop_assert_eq!(encode(&entry, false, epoch, &mut bytes), 1);
        let mut decoder = Decoder(&bytes);
        let back = decode(&mut decoder, epoch + later).expect("whole");
        let until = Moment(residue.until.0.saturating_sub(later));
        let residue = Residue { until, ..residue };
        prop_assert_eq!(back, Entry { residue, ..entry });
        prop_assert!(decoder.is_empty());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = decode(&mut Decoder(&bytes), 7);
    }
}

#[test]
fn an_entry_takes_no_more_than_it_is_said_to() {
    assert_eq!(size_of::<Residue>(), 24);
    assert_eq!((ENTRY_BYTES, COUNT_BYTES), (57, 22));
}

fn drained() -> Residue {
    let mut residue = Residue::default();
    residue.set_drained(Some(DrainReason::HostUnreachable), Some(ErrorKind::Dns));
    residue
}

#[test]
fn the_oldest_that_break_no_promise_go_first_and_are_counted() {
    let mut residues = Residues::new(1 << 15);
    let most = residues.most as u64;
    for key in 0..most {
        assert!(residues.make_room(1, Moment(5)));
        let until = if key == 0 { Moment(9_999) } else { Moment::START };
        residues.put(key, Residue { until, ..drained() });
    }
    assert!(residues.make_room(1, Moment(5)));
    assert!(residues.take_dropped() > 0);
    assert!(residues.get(0).is_some(), "its time has not come yet");
    assert!(residues.get(1).is_none());
    assert!(residues.get(most - 1).is_some());
    assert!(residues.memory_bytes().0 <= 1 << 15);
}

#[test]
fn what_says_nothing_any_more_goes_uncounted() {
    let mut residues = Residues::new(1 << 15);
    for key in 0..residues.most as u64 {
        residues.put(key, Residue { until: Moment(100), ..Residue::default() });
    }
    assert!(!residues.make_room(1, Moment(99)), "these are promises");
    assert!(!residues.make_room(1, Moment(99)));
    assert!(residues.make_room(1, Moment(100)));
    assert_eq!(residues.take_dropped(), 0);
    assert_eq!(residues.table.len(), 0);
}

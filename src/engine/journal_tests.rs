use proptest::prelude::*;

use super::*;
use crate::frontier::Claimed;
use crate::model::{SkipReason, Via};

/// Numbers that are counted on from.
const MOST: u64 = 1 << 50;

fn ticket() -> impl Strategy<Value = Ticket> {
    (any::<u32>(), 0..16_u8, 0..MOST).prop_map(|(queue, class, sequence)| Ticket {
        queue: QueueId(queue),
        class,
        sequence,
    })
}

fn candidate() -> impl Strategy<Value = Candidate> {
    let referrer = proptest::option::of(prop_oneof!["http://a/[a-c]", Just("http://same/".to_owned())]);
    (any::<u64>(), 0..1_000_000_u32, "[a-zé]{0,20}", referrer).prop_map(|(key, depth, path, referrer)| {
        Candidate {
            url: format!("http://h/{path}").into(),
            origin_length: 8,
            key,
            depth,
            via: Via::Link,
            hops: 1,
            carries_scope: false,
            referrer: referrer.map(Arc::from),
        }
    })
}

fn attempt() -> impl Strategy<Value = KeptAttempt> {
    (
        ticket(),
        [0..MOST_TRIES, 0..MOST_TRIES],
        any::<[bool; 2]>(),
        any::<u64>(),
        candidate(),
        proptest::option::of("[a-z\"]{1,9}"),
    )
        .prop_map(
            |(ticket, [requests, failures], [reconnected, respelled], not_before, candidate, title)| {
                KeptAttempt {
                    ticket,
                    requests,
                    failures,
                    reconnected,
                    respelled,
                    not_before,
                    candidate,
                    fallback: title.map(|title| Box::new(record(title))),
                }
            },
        )
}

fn record(title: String) -> Record {
    let line = r#"{"url":"http://h/","depth":0,"via":"seed","wire_bytes":0,"decoded_bytes":0,"links":0,"fetched_at":"","elapsed_ms":0,"attempts":1}"#;
    let mut record: Record = serde_json::from_str(line).expect("a record");
    record.title = Some(title);
    record
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (ticket(), candidate()).prop_map(|(ticket, candidate)| Change::Accept(ticket, candidate)),
        (ticket(), candidate()).prop_map(|(ticket, candidate)| Change::Rescue(ticket, candidate)),
        (ticket(), ticket(), candidate()).prop_map(|(from, to, candidate)| Change::Move(from, to, candidate)),
        ticket().prop_map(Change::Acknowledge),
        (0..MOST, candidate()).prop_map(|(number, candidate)| Change::Doubt(number, candidate)),
        (0..MOST).prop_map(Change::Retire),
        attempt().prop_map(|attempt| Change::Retry(Box::new(attempt))),
        "[a-zé]{0,9}".prop_map(|url| Change::Scope(url.into())),
        ticket().prop_map(Change::Start),
        (0..MOST).prop_map(Change::Seeds),
        Just(Change::SeedsComplete),
        proptest::collection::vec(any::<u8>(), 0..9).prop_map(|bytes| Change::Host(bytes.into())),
        any::<u64>().prop_map(Change::Trap),
        (0..SkipReason::ALL.len(), "[a-zé]{0,9}")
            .prop_map(|(reason, url)| Change::Example(SkipReason::ALL[reason], url.into())),
        any::<u64>().prop_map(|micros| Change::Elapsed(Duration::from_micros(micros))),
        (any::<[Vec<u64>; 2]>(), any::<Vec<(u64, u32)>>())
            .prop_map(|([links, named], hosts)| Change::Observed(ObservedLinks { links, hosts, named })),
    ]
}

fn note(journal: &mut Journal, change: &Change) {
    match change {
        Change::Accept(ticket, candidate) => journal.accept(*ticket, candidate),
        Change::Rescue(ticket, candidate) => journal.rescue(*ticket, candidate),
        Change::Move(from, to, candidate) => journal.move_candidate(*from, *to, candidate),
        Change::Acknowledge(ticket) => journal.acknowledge(*ticket),
        Change::Doubt(number, candidate) => journal.doubt(*number, candidate),
        Change::Retire(below) => journal.retire(*below),
        Change::Retry(attempt) => journal.retry(attempt),
        Change::Scope(url) => journal.scope(url),
        Change::Start(ticket) => journal.start(*ticket),
        Change::Seeds(taken) => journal.seeds(*taken),
        Change::Host(state) => journal.host(state),
        Change::SeedsComplete => journal.seeds_complete(),
        Change::Trap(key) => journal.trap(*key),
        Change::Example(reason, url) => journal.example(*reason, url),
        Change::Elapsed(elapsed) => journal.elapsed(*elapsed),
        Change::Observed(observed) => journal.observed(observed),
        Change::Count(..) | Change::Sink(..) => {}
    }
}

proptest! {
    #[test]
    fn a_record_reads_back_as_it_was_noted(
        changes in proptest::collection::vec(change(), 0..12),
        range in any::<(u64, u64, u64, u32)>(),
        counted in 0..1000_u64,
    ) {
        let mut journal = Journal::kept(Counters::default());
        let mut counters = Counters::default();
        counters.discovered += counted;
        counters.skipped_before_queue.add(SkipReason::OutOfScope, counted);
        for change in &changes {
            note(&mut journal, change);
        }
        let (sink, offset, length, crc32) = range;
        let range = SinkRange { offset, length, crc32 };
        let record = journal.finish(&mut counters, &[(sink, range)]).to_vec();
        let mut read = Vec::new();
        let mut replayed = Counters::default();
        read_record::<Malformed>(&record, |change| {
            match change {
                Change::Count(slot, n) => prop_assert_eq_or_malformed(replayed.count(slot, n)),
                change => { read.push(change); Ok(()) }
            }
        }).expect("it was just written");
        let mut expected = changes;
        expected.push(Change::Sink(sink, range));
        prop_assert_eq!(read, expected);
        prop_assert_eq!(replayed, counters);
    }

    #[test]
    fn no_bytes_make_reading_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let _ = read_record::<Malformed>(&bytes, |_| Ok(()));
    }
}

fn prop_assert_eq_or_malformed(known: bool) -> Result<(), Malformed> {
    if known { Ok(()) } else { Err(Malformed) }
}

#[test]
fn a_journal_that_is_not_kept_notes_nothing() {
    let mut journal = Journal::default();
    journal.acknowledge(Ticket { queue: QueueId(1), class: 0, sequence: 0 });
    assert!(journal.is_empty());
}

#[test]
fn an_attempt_goes_on_where_it_was() {
    let candidate = Candidate {
        url: "http://h/a".into(),
        origin_length: 8,
        key: 1,
        depth: 0,
        via: Via::Seed,
        hops: 0,
        carries_scope: true,
        referrer: None,
    };
    let ticket = Ticket { queue: QueueId(5000), class: 0, sequence: 3 };
    let mut attempt = Attempt::new(Claimed { ticket, candidate });
    attempt.failures = 2;
    attempt.requests = 3;
    attempt.respelled = true;
    attempt.candidate.url = "http://h/A".into();
    attempt.fallback = Some(Box::new(record("t".into())));
    assert_eq!(KeptAttempt::new(&attempt, 7).revive(), attempt);
}

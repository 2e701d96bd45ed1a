use super::*;
use crate::engine::delivery::write_least;
use crate::engine::job::Asked;
use crate::frontier::{
    Attempt, BUCKETS, Claimed, HostShare, OriginId, Politeness, QueueId, Schedule, Ticket,
};
use crate::model::Candidate;
use crate::model::Via;

fn origin() -> OriginId {
    let politeness = Politeness {
        concurrency: 8,
        delay: Duration::ZERO,
        random_wait: false,
        address_delay: Duration::ZERO,
        max_crawl_delay: Duration::ZERO,
        per_host: 1,
        host_failures: 5,
        max_pages_per_host: None,
        seed: 1,
    };
    let share = HostShare { open_bytes: 0, residue_bytes: 0, closed_rules_bytes: 0, secret: 1 };
    Schedule::new(politeness, share, false).origin_of("http://a.test")
}

fn page_outcome() -> PageOutcome {
    let candidate = Candidate {
        url: "http://a.test/a?'".into(),
        origin_length: 13,
        key: 1,
        depth: 0,
        via: Via::Seed,
        hops: 0,
        carries_scope: true,
        referrer: None,
    };
    let claimed = Claimed { ticket: Ticket { queue: QueueId(BUCKETS), class: 0, sequence: 0 }, candidate };
    let attempt = Attempt::new(claimed);
    new_outcome(PageJob { origin: origin(), attempt, buffers: crate::engine::job::Buffers::default() })
}

/// What arrives where the work panics.
fn delivered(outcome: Outcome) -> Outcome {
    let (sender, mut receiver) = mpsc::channel(1);
    let work = std::thread::spawn(move || {
        let _delivery = Delivery::new(outcome, sender);
        panic!("a panic that a test wants");
    });
    assert!(work.join().is_err());
    receiver.try_recv().expect("an outcome comes all the same").outcome
}

fn broken() -> PageError {
    PageError { kind: ErrorKind::Other, detail: BROKEN.to_owned() }
}

#[test]
fn a_panic_is_an_outcome_of_every_kind_of_job() {
    let Outcome::Page(page) = delivered(Outcome::Page(Box::new(page_outcome()))) else {
        panic!("a page's outcome is expected");
    };
    assert_eq!((page.verdict, page.record.error), (Verdict::Final, Some(broken())));
    let line: serde_json::Value = serde_json::from_slice(&page.line).expect("the line is JSON");
    assert_eq!(line["error"]["kind"], "other");

    let (asked, sitemaps) = (Asked::default(), LinkBatch::default());
    let robots = Outcome::Robots { origin: origin(), answer: failed_robots(), asked, sitemaps };
    assert!(matches!(
        delivered(robots),
        Outcome::Robots { answer: RobotsAnswer::Failed { retry_after: None, error }, .. } if error == broken()
    ));
    let error = FetchError::new(ErrorKind::Other, false, BROKEN);
    let address = Outcome::Address { origin: origin(), found: Err(NoAddress { error, holds_for: None }) };
    let Outcome::Address { found: Err(NoAddress { error, holds_for: None }), .. } = delivered(address) else {
        panic!("a look-up");
    };
    assert_eq!(page_error(error), broken());
}

fn failed_robots() -> RobotsAnswer {
    RobotsAnswer::Failed { retry_after: None, error: broken() }
}

#[test]
fn the_least_line_is_json_and_an_error() {
    let mut page = page_outcome();
    page.line.extend_from_slice(b"{\"url\":half");
    write_least(&mut page, broken());
    assert_eq!(page.line.last(), Some(&b'\n'));
    let line: serde_json::Value = serde_json::from_slice(&page.line).expect("the line is JSON");
    assert_eq!((&line["url"], &line["error"]["detail"]), (&"http://a.test/a?'".into(), &BROKEN.into()));
    assert_eq!(page.record.error, Some(broken()));
}

/// Bytes of what `run` gives.
fn bytes_of<A, B, C, D, Work: Future>(_: impl FnOnce(A, B, C, D) -> Work) -> usize {
    size_of::<Work>()
}

/// Each page has a task of its own, which is copied when it is started and when it has ended:
/// at 15 KiB that took a twentieth of the processor time of a crawl.
#[test]
fn a_task_is_small() {
    let bytes = bytes_of(run);
    assert!(bytes <= 4 << 10, "{bytes} bytes");
}

#[path = "opening_tests.rs"]
mod opening;
#[path = "rules_tests.rs"]
mod rules;

use proptest::prelude::*;

use super::*;
use crate::frontier::{
    Attempt, BUCKETS, Claimed, DrainReason, FIRST_PAUSE, Failed, Pick, QueueId, RobotsState, Ticket,
};
use crate::model::{Candidate, Via};

fn politeness(delay: u64) -> Politeness {
    Politeness {
        delay: Duration::from_millis(delay),
        random_wait: false,
        address_delay: Duration::ZERO,
        max_crawl_delay: Duration::from_secs(60),
        per_host: 1,
        concurrency: 64,
        host_failures: 3,
        max_pages_per_host: None,
        seed: 7,
    }
}

const SHARE: HostShare =
    HostShare { open_bytes: 1 << 20, residue_bytes: 1 << 16, closed_rules_bytes: 1 << 16, secret: 5 };

fn schedule(politeness: Politeness, obey_robots: bool) -> Schedule {
    Schedule::new(politeness, SHARE, obey_robots)
}

fn work(schedule: &mut Schedule, origin: &str, pages: u64) -> OriginId {
    let id = schedule.origin_of(origin);
    schedule.origin_mut(id).unclaimed += pages;
    schedule.refresh(id);
    id
}

fn milliseconds(n: u64) -> Moment {
    Moment(n * 1000)
}

/// Takes one page of an origin, as the core does.
fn take(schedule: &mut Schedule, id: OriginId) {
    schedule.origin_mut(id).unclaimed -= 1;
    schedule.started(id, true);
}

#[test]
fn origins_and_hosts_are_told_apart() {
    let mut schedule = schedule(politeness(0), false);
    let plain = schedule.origin_of("http://a.test");
    let port = schedule.origin_of("http://a.test:8080");
    let tls = schedule.origin_of("https://a.test");
    let six = schedule.origin_of("http://[::1]");
    let six_port = schedule.origin_of("http://[::1]:81");
    assert_eq!(schedule.origin_of("http://a.test"), plain);
    assert_ne!(plain, port);
    assert_eq!(schedule.host(plain).name, schedule.host(port).name);
    assert_eq!(schedule.host(plain).name, schedule.host(tls).name);
    assert_eq!(&*schedule.host(six).name, "[::1]");
    assert_eq!(schedule.host(six).name, schedule.host(six_port).name);
    assert_eq!(schedule.hosts().count(), 2);
}

#[test]
fn the_delay_counts_from_the_end_of_a_fetch() {
    let mut schedule = schedule(politeness(100), false);
    let id = work(&mut schedule, "http://a.test", 2);
    assert_eq!(schedule.pick(milliseconds(0)), Pick::Origin(id));
    take(&mut schedule, id);
    assert_eq!(schedule.pick(milliseconds(500)), Pick::Nothing);
    schedule.finished(id, true, milliseconds(700));
    assert_eq!(schedule.pick(milliseconds(799)), Pick::NotBefore(milliseconds(800)));
    assert_eq!(schedule.pick(milliseconds(800)), Pick::Origin(id));
}

#[test]
fn hosts_without_a_delay_take_turns() {
    let mut schedule = schedule(Politeness { per_host: 9, ..politeness(0) }, false);
    let a = work(&mut schedule, "http://a.test", 9);
    let b = work(&mut schedule, "http://b.test", 9);
    let mut order = Vec::new();
    for _ in 0..6 {
        let Pick::Origin(id) = schedule.pick(milliseconds(0)) else { panic!("there is work") };
        take(&mut schedule, id);
        order.push(id);
    }
    assert_eq!(order, [a, b, a, b, a, b]);
}

#[test]
fn origins_of_one_host_share_its_delay_and_take_turns() {
    let mut schedule = schedule(politeness(100), false);
    let plain = work(&mut schedule, "http://a.test", 2);
    let tls = work(&mut schedule, "https://a.test", 2);
    assert_eq!(schedule.pick(milliseconds(0)), Pick::Origin(plain));
    take(&mut schedule, plain);
    schedule.finished(plain, true, milliseconds(0));
    assert_eq!(schedule.pick(milliseconds(50)), Pick::NotBefore(milliseconds(100)));
    assert_eq!(schedule.pick(milliseconds(100)), Pick::Origin(tls));
}

#[test]
fn a_crawl_delay_lengthens_but_never_shortens_and_is_clamped() {
    let mut schedule = schedule(Politeness { per_host: 4, ..politeness(0) }, false);
    let id = work(&mut schedule, "http://a.test", 9);
    assert!(!schedule.set_crawl_delay(id, 0.5));
    assert_eq!(schedule.pick(milliseconds(0)), Pick::Origin(id));
    take(&mut schedule, id);
    assert_eq!(schedule.pick(milliseconds(0)), Pick::Nothing, "one at a time where there is a delay");
    schedule.finished(id, true, milliseconds(10));
    assert_eq!(schedule.pick(milliseconds(10)), Pick::NotBefore(milliseconds(510)));
    assert!(schedule.set_crawl_delay(id, 86_400.0));
    assert!(schedule.set_crawl_delay(id, f64::MAX));
    assert_eq!(schedule.pick(milliseconds(510)), Pick::Origin(id));
    take(&mut schedule, id);
    schedule.finished(id, true, milliseconds(600));
    assert_eq!(schedule.pick(milliseconds(700)), Pick::NotBefore(milliseconds(60_600)));
}

#[test]
fn a_failing_host_rests_longer_each_time_and_is_given_up() {
    let mut schedule = schedule(politeness(0), false);
    let id = work(&mut schedule, "http://a.test", 9);
    assert_eq!(schedule.host_failed(id, milliseconds(0), milliseconds(0)), Failed::Paused(FIRST_PAUSE));

    assert_eq!(schedule.pick(milliseconds(0)), Pick::NotBefore(milliseconds(1000)));
    assert_eq!(
        schedule.host_failed(id, milliseconds(1000), milliseconds(1000)),
        Failed::Paused(2 * FIRST_PAUSE)
    );
    assert_eq!(schedule.pick(milliseconds(1000)), Pick::NotBefore(milliseconds(3000)));
    assert_eq!(schedule.host_failed(id, milliseconds(3000), milliseconds(3000)), Failed::GivenUp);
    assert_eq!(schedule.drained(id), Some(DrainReason::HostUnreachable));
    assert_eq!(schedule.pick(milliseconds(3000)), Pick::Origin(id), "what is left can be skipped at once");
}

#[test]
fn nothing_of_an_origin_is_due_while_its_robots_txt_is_fetched() {
    let mut schedule = schedule(politeness(0), true);
    let id = work(&mut schedule, "http://a.test", 1);
    assert_eq!(schedule.pick(milliseconds(0)), Pick::Origin(id));
    schedule.origin_mut(id).robots = RobotsState::Fetching { failures: 0, booked: id, last: None };
    schedule.started(id, false);
    assert_eq!(schedule.pick(milliseconds(0)), Pick::Nothing);
    let at = milliseconds(50);
    schedule.origin_mut(id).robots = RobotsState::Retry { failures: 1, at, last: None };
    schedule.finished(id, false, milliseconds(1));
    assert_eq!(schedule.pick(milliseconds(1)), Pick::NotBefore(at));
    assert_eq!(schedule.pick(at), Pick::Origin(id));
}

#[test]
fn one_request_at_a_time_goes_to_an_address() {
    let politeness = Politeness { address_delay: Duration::from_secs(1), ..politeness(0) };
    let mut schedule = schedule(politeness, false);
    let address = Some("127.0.0.1".parse().expect("an address"));
    let ids: Vec<OriginId> = (0..50).map(|n| work(&mut schedule, &format!("http://h{n}.test"), 1)).collect();
    for _ in &ids {
        let Pick::Address(id) = schedule.pick(milliseconds(0)) else { panic!("addresses come first") };
        schedule.resolving(id);
        schedule.resolved(id, address, Moment(u64::MAX));
    }
    let mut now = milliseconds(0);
    let mut ended: Option<Moment> = None;
    let mut fetched = 0;
    while fetched < ids.len() {
        match schedule.pick(now) {
            Pick::Origin(id) => {
                assert!(ended.is_none_or(|ended| now.since(ended) >= Duration::from_secs(1)));
                take(&mut schedule, id);
                assert_eq!(schedule.pick(now), Pick::Nothing, "the address is busy");
                now = now.after(Duration::from_millis(20));
                schedule.finished(id, true, now);
                ended = Some(now);
                fetched += 1;
            }
            Pick::NotBefore(at) => now = at,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_random_wait_stays_within_half_and_one_and_a_half() {
    let mut schedule = schedule(Politeness { random_wait: true, ..politeness(100) }, false);
    let id = work(&mut schedule, "http://a.test", 1000);
    let mut now = milliseconds(0);
    let mut waits = Vec::new();
    for _ in 0..200 {
        assert_eq!(schedule.pick(now), Pick::Origin(id));
        take(&mut schedule, id);
        schedule.finished(id, true, now);
        let Pick::NotBefore(at) = schedule.pick(now) else { panic!("there is a delay") };
        waits.push(at.since(now).as_millis());
        now = at;
    }
    assert!(waits.iter().all(|wait| (50..=150).contains(wait)));
    assert!(waits.iter().min() < waits.iter().max());
}

fn attempt(n: u32) -> Attempt {
    Attempt::new(Claimed {
        ticket: Ticket { queue: QueueId(BUCKETS), class: 0, sequence: u64::from(n) },
        candidate: Candidate {
            url: format!("http://a.test/{n}").into(),
            origin_length: 13,
            key: u64::from(n),
            depth: 0,
            via: Via::Link,
            hops: 0,
            carries_scope: false,
            referrer: None,
        },
    })
}

#[test]
fn waiting_attempts_come_back_in_the_order_of_their_times() {
    let mut schedule = schedule(politeness(0), false);
    let id = schedule.origin_of("http://a.test");
    schedule.wait(id, attempt(1), milliseconds(30));
    schedule.wait(id, attempt(2), milliseconds(10));
    schedule.wait(id, attempt(3), milliseconds(20));
    assert_eq!(schedule.pick(milliseconds(0)), Pick::NotBefore(milliseconds(10)));
    let mut order = Vec::new();
    for at in [10, 20, 30] {
        assert_eq!(schedule.pick(milliseconds(at)), Pick::Origin(id));
        let attempt = schedule.take_waiting(id, milliseconds(at), false).expect("due");
        order.push(attempt.ticket.sequence);
        schedule.refresh(id);
    }
    assert_eq!(order, [2, 3, 1]);
    assert_eq!(schedule.pick(milliseconds(100)), Pick::Nothing);
}

proptest! {
    /// Whatever happens to whom, no host is picked before its delay has passed, none has
    /// more requests in flight than it may, and all the work gets done.
    #[test]
    fn delays_and_slots_are_never_violated(
        pages in prop::collection::vec(1_u64..6, 1..8),
        delay in 0_u64..20,
        per_host in 1_usize..4,
        steps in prop::collection::vec((0_u64..15, any::<u8>()), 1..200),
    ) {
        let per_host = if delay == 0 { per_host } else { 1 };
        let mut schedule = schedule(Politeness { per_host, ..politeness(delay) }, false);
        let mut left: u64 = pages.iter().sum();
        for (host, pages) in pages.iter().enumerate() {
            work(&mut schedule, &format!("http://h{host}.test"), *pages);
        }
        let mut now = Moment::START;
        let mut flying: Vec<OriginId> = Vec::new();
        let mut ended: HashMap<OriginId, Moment> = HashMap::new();
        let mut steps = steps.into_iter().cycle();
        while left > 0 || !flying.is_empty() {
            let (passes, which) = steps.next().expect("endless");
            now = now.after(Duration::from_millis(passes));
            let pick = schedule.pick(now);
            match pick {
                Pick::Origin(id) => {
                    let at_once = flying.iter().filter(|other| **other == id).count();
                    prop_assert!(at_once < per_host);
                    if let Some(ended) = ended.get(&id) {
                        prop_assert!(now >= ended.after(Duration::from_millis(delay)));
                    }
                    take(&mut schedule, id);
                    left -= 1;
                    flying.push(id);
                }
                Pick::NotBefore(at) => {
                    prop_assert!(at > now);
                    if flying.is_empty() { now = at; }
                }
                _ => prop_assert!(!flying.is_empty(), "work is left but nothing will ever be due"),
            }
            if !flying.is_empty() && (which % 3 == 0 || matches!(pick, Pick::NotBefore(_) | Pick::Nothing)) {
                let id = flying.swap_remove(usize::from(which) % flying.len());
                schedule.finished(id, true, now);
                ended.insert(id, now);
            }
        }
    }
}

#[test]
fn failures_of_one_moment_are_one_failure() {
    let mut schedule = schedule(Politeness { per_host: 32, ..politeness(0) }, false);
    let id = work(&mut schedule, "http://a.test", 99);
    assert_eq!(schedule.host_failed(id, milliseconds(5), milliseconds(9)), Failed::Paused(FIRST_PAUSE));
    for _ in 0..31 {
        assert_eq!(schedule.host_failed(id, milliseconds(5), milliseconds(9)), Failed::Known);
    }
    let later = milliseconds(1009);
    assert_eq!(schedule.pick(later), Pick::Origin(id));
    take(&mut schedule, id);
    assert_eq!(schedule.pick(later), Pick::Nothing, "a host in trouble is sounded with one request");
    schedule.finished(id, true, later);
    schedule.host_answered(id);
    for _ in 0..32 {
        assert_eq!(schedule.pick(later), Pick::Origin(id));
        take(&mut schedule, id);
    }
}

#[test]
fn a_host_that_never_answers_leaves_slots_to_the_others() {
    let settings = Politeness { per_host: 8, concurrency: 8, ..politeness(0) };
    let mut schedule = schedule(settings, false);
    let slow = work(&mut schedule, "http://slow.test", 1000);
    let fast = work(&mut schedule, "http://fast.test", 1000);
    let (mut slow_in_flight, mut fast_done) = (0, 0);
    let mut now = milliseconds(0);
    // Eight slots; what the fast host is given ends at once, the slow host's never.
    for _ in 0..200 {
        match schedule.pick(now) {
            Pick::Origin(id) if id == slow => {
                take(&mut schedule, id);
                slow_in_flight += 1;
            }
            Pick::Origin(id) => {
                take(&mut schedule, id);
                now = now.after(Duration::from_millis(1));
                schedule.finished(id, true, now);
                fast_done += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(schedule.host(fast).in_flight, 0);
    assert!(slow_in_flight <= 4, "{slow_in_flight} of 8 slots went to the host that does not answer");
    assert!(fast_done >= 196);
}

#[test]
fn a_random_wait_never_shortens_a_crawl_delay() {
    let mut schedule = schedule(Politeness { random_wait: true, ..politeness(100) }, false);
    let id = work(&mut schedule, "http://a.test", 1000);
    schedule.set_crawl_delay(id, 2.0);
    let mut now = milliseconds(0);
    for _ in 0..50 {
        assert_eq!(schedule.pick(now), Pick::Origin(id));
        take(&mut schedule, id);
        schedule.finished(id, true, now);
        let Pick::NotBefore(at) = schedule.pick(now) else { panic!("there is a delay") };
        assert!(at.since(now) >= Duration::from_secs(2));
        now = at;
    }
}

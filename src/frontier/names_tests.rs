use std::time::Duration;

use super::*;
use crate::frontier::{DrainReason, Failed, HostShare, Pick, Politeness};
use crate::model::ErrorKind;

fn schedule(most: usize) -> Schedule {
    let politeness = Politeness {
        delay: Duration::ZERO,
        random_wait: false,
        address_delay: Duration::ZERO,
        max_crawl_delay: Duration::from_secs(60),
        per_host: 2,
        concurrency: 64,
        host_failures: 5,
        max_pages_per_host: None,
        seed: 7,
    };
    let share = HostShare { open_bytes: 1 << 20, residue_bytes: 1 << 16, closed_rules_bytes: 0, secret: 5 };
    let mut schedule = Schedule::new(politeness, share, false);
    schedule.look_up_names(most);
    schedule
}

fn work(schedule: &mut Schedule, origin: &str) -> OriginId {
    let id = schedule.origin_of(origin);
    schedule.origin_mut(id).unclaimed += 1;
    schedule.refresh(id);
    id
}

fn take(schedule: &mut Schedule, id: OriginId) {
    schedule.origin_mut(id).unclaimed -= 1;
    schedule.started(id, true);
}

fn seconds(n: u64) -> Moment {
    Moment(n * 1_000_000)
}

fn dns_error() -> PageError {
    PageError { kind: ErrorKind::Dns, detail: "a.test: no such host".to_owned() }
}

#[test]
fn a_name_is_looked_up_before_its_host_is_asked_and_again_when_that_has_run_out() {
    let mut schedule = schedule(4);
    let id = work(&mut schedule, "http://a.test");
    let other = work(&mut schedule, "http://a.test:81");
    assert_eq!(schedule.pick(seconds(0)), Pick::Address(id));
    schedule.resolving(id);
    assert_eq!(schedule.pick(seconds(0)), Pick::Nothing, "both origins wait for one look-up");
    schedule.resolved(id, None, seconds(30));
    for expected in [id, other] {
        assert_eq!(schedule.pick(seconds(1)), Pick::Origin(expected));
        take(&mut schedule, expected);
    }
    schedule.finished(id, true, seconds(2));
    work(&mut schedule, "http://a.test");
    assert_eq!(schedule.pick(seconds(30)), Pick::Address(id), "with a request in flight, too");
    schedule.resolving(id);
    schedule.resolved(id, None, seconds(60));
    assert_eq!(schedule.pick(seconds(31)), Pick::Origin(id));
}

#[test]
fn who_needs_no_look_up_is_asked_at_once() {
    let mut schedule = schedule(1);
    let id = work(&mut schedule, "http://127.0.0.1");
    assert_eq!(schedule.pick(seconds(0)), Pick::Address(id));
    schedule.needs_no_look_up(id);
    assert_eq!(schedule.pick(seconds(0)), Pick::Origin(id));
    take(&mut schedule, id);
    work(&mut schedule, "http://127.0.0.1");
    assert_eq!(schedule.pick(seconds(9)), Pick::Origin(id), "for ever");
}

#[test]
fn those_in_line_for_a_look_up_hold_up_nobody_and_come_in_turn() {
    let mut schedule = schedule(2);
    let silent: Vec<OriginId> =
        (0..5).map(|n| work(&mut schedule, &format!("http://silent{n}.test"))).collect();
    let literal = work(&mut schedule, "http://127.0.0.1");
    let mut begun = Vec::new();
    let mut turns = 0;
    loop {
        turns += 1;
        match schedule.pick(seconds(0)) {
            Pick::Address(id) if id == literal => schedule.needs_no_look_up(id),
            Pick::Address(id) if schedule.stands_in_line(id) => assert_eq!(begun.len(), 2),
            Pick::Address(id) => {
                schedule.resolving(id);
                begun.push(id);
            }
            Pick::Origin(id) => {
                assert_eq!(id, literal);
                take(&mut schedule, id);
            }
            other => {
                assert_eq!(other, Pick::Nothing);
                break;
            }
        }
    }
    assert_eq!((&begun[..], turns), (&silent[..2], 8), "each host came up once, the last one twice");
    assert_eq!(schedule.origin(literal).unclaimed, 0, "it was asked while all others waited");
    for n in 0..5 {
        schedule.resolved(begun[n], None, seconds(99));
        if n + 2 < 5 {
            assert_eq!(schedule.pick(seconds(1)), Pick::Address(silent[n + 2]), "next in line");
            assert!(!schedule.stands_in_line(silent[n + 2]));
            schedule.resolving(silent[n + 2]);
            begun.push(silent[n + 2]);
        }
        assert_eq!(schedule.pick(seconds(1)), Pick::Origin(begun[n]));
        take(&mut schedule, begun[n]);
    }
}

#[test]
fn a_name_that_leads_nowhere_is_a_verdict_for_its_time() {
    let mut schedule = schedule(4);
    let id = work(&mut schedule, "http://a.test");
    assert_eq!(schedule.pick(seconds(0)), Pick::Address(id));
    schedule.resolving(id);
    schedule.gone(id, &dns_error(), seconds(300));
    assert_eq!(schedule.pick(seconds(1)), Pick::Origin(id), "to be drained");
    assert_eq!(schedule.drained(id), Some(DrainReason::HostUnreachable));
    schedule.origin_mut(id).unclaimed = 0;
    schedule.refresh(id);
    for name in ["http://a.test", "https://a.test"] {
        let standing = schedule.standing(name);
        assert_eq!(standing, Some((DrainReason::HostUnreachable, Some(dns_error()))), "{name}");
    }
    assert_eq!(schedule.pick(seconds(299)), Pick::Nothing);
    assert_eq!(schedule.drained(id), Some(DrainReason::HostUnreachable));
    assert_eq!(schedule.pick(seconds(300)), Pick::Nothing);
    assert_eq!((schedule.standing("http://a.test"), schedule.drained(id)), (None, None));
    work(&mut schedule, "http://a.test");
    assert_eq!(schedule.pick(seconds(301)), Pick::Address(id), "it is asked again");
    schedule.resolving(id);
    schedule.resolved(id, None, seconds(999));
    assert_eq!(schedule.pick(seconds(301)), Pick::Origin(id));
}

#[test]
fn a_name_that_nobody_answers_for_is_asked_three_times() {
    let mut schedule = schedule(4);
    let id = work(&mut schedule, "http://a.test");
    let mut now = seconds(0);
    for turn in 1.. {
        assert_eq!(schedule.pick(now), Pick::Address(id));
        schedule.resolving(id);
        now = now.after(Duration::from_secs(9));
        let started = schedule.unresolved(id);
        match schedule.host_failed(id, started, now) {
            Failed::Paused(pause) => {
                assert_eq!(schedule.pick(now), Pick::NotBefore(now.after(pause)));
                now = now.after(pause);
            }
            Failed::GivenUp => {
                assert_eq!(turn, 3);
                break;
            }
            Failed::Known => panic!("each counts"),
        }
    }
    assert_eq!(schedule.drained(id), Some(DrainReason::HostUnreachable));
    assert_eq!(schedule.pick(now), Pick::Origin(id), "to be drained");
}

#[test]
fn a_host_that_cannot_be_reached_is_looked_up_again() {
    let unreachable = PageError { kind: ErrorKind::Connect, detail: String::new() };
    for of_robots in [true, false] {
        let mut schedule = schedule(4);
        let id = work(&mut schedule, "http://a.test");
        assert_eq!(schedule.pick(seconds(0)), Pick::Address(id));
        schedule.resolving(id);
        schedule.resolved(id, None, seconds(900));
        assert_eq!(schedule.pick(seconds(1)), Pick::Origin(id));
        if of_robots {
            schedule.robots_failed(id, &unreachable);
            schedule.refresh(id);
        } else {
            schedule.host_failed(id, seconds(1), seconds(2));
        }
        assert_eq!(schedule.pick(seconds(9)), Pick::Address(id));
        schedule.resolving(id);
        if of_robots {
            schedule.robots_failed(id, &unreachable);
        } else {
            schedule.host_failed(id, seconds(9), seconds(10));
        }
        schedule.refresh(id);
        assert_eq!(schedule.pick(seconds(19)), Pick::Nothing, "one look-up at a time");
        schedule.resolved(id, None, seconds(900));
        assert_eq!(schedule.pick(seconds(20)), Pick::Origin(id));
    }
}

#[test]
fn a_look_up_under_way_keeps_its_host_open() {
    let mut schedule = schedule(4);
    let id = work(&mut schedule, "http://a.test");
    assert_eq!(schedule.pick(seconds(0)), Pick::Address(id));
    schedule.resolving(id);
    schedule.origin_mut(id).unclaimed = 0;
    schedule.refresh(id);
    assert_eq!(schedule.close_idle(seconds(1), 9).len(), 0);
    schedule.resolved(id, None, seconds(30));
    assert_eq!(schedule.close_idle(seconds(1), 9).len(), 1);
}

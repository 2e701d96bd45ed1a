//! Opening and closing, and what must outlive it.

use std::collections::HashSet;

use super::*;
use crate::frontier::Pick;
use crate::model::{ErrorKind, PageError};
use crate::robots::RobotsRules;
use crate::store::{Decoder, Malformed};

const MINUTE: Duration = Duration::from_secs(60);

fn small(hosts: u64, politeness: Politeness, obey_robots: bool) -> Schedule {
    let open_bytes = hosts * if obey_robots { 2600 } else { 1400 };
    Schedule::new(
        politeness,
        HostShare { open_bytes, residue_bytes: 1 << 16, closed_rules_bytes: 0, secret: 5 },
        obey_robots,
    )
}

/// Opens an origin as the core does: in the place of idle ones where there is no room.
pub(super) fn open(schedule: &mut Schedule, name: &str, now: Moment) -> Option<OriginId> {
    loop {
        if let Some(id) = schedule.open(name) {
            return Some(id);
        }
        if schedule.close_idle(now, 1).is_empty() {
            return None;
        }
    }
}

/// One page of an origin, from being queued to its end.
pub(super) fn page(schedule: &mut Schedule, id: OriginId, now: Moment) {
    schedule.pushed(id);
    take(schedule, id);
    schedule.finished(id, true, now);
}

fn failure(kind: ErrorKind) -> PageError {
    PageError { kind, detail: "in detail".into() }
}

#[test]
fn an_idle_host_stays_while_there_is_room_and_the_longest_idle_leaves_first() {
    let mut schedule = small(3, politeness(0), false);
    let now = milliseconds(1);
    let names: Vec<String> = (0..20).map(|n| format!("http://h{n}.test")).collect();
    let mut opened = 0;
    while let Some(id) = schedule.open(&names[opened]) {
        page(&mut schedule, id, now);
        opened += 1;
    }
    assert!(opened >= 3);
    let again = schedule.find(&names[0]).expect("still open");
    page(&mut schedule, again, now);
    assert_eq!(schedule.close_idle(now, 1).len(), 1);
    assert!(schedule.find(&names[0]).is_some(), "it was the last to have work");
    assert!(schedule.find(&names[1]).is_none());
    assert!(schedule.open(&names[opened]).is_some());
}

#[test]
fn a_host_with_anything_left_to_do_is_not_closed() {
    let mut schedule = small(10, politeness(0), true);
    let now = milliseconds(1);
    let queued = work(&mut schedule, "http://queued.test", 1);
    let waiting = schedule.origin_of("http://waiting.test");
    schedule.wait(waiting, attempt(1), milliseconds(50));
    let flying = work(&mut schedule, "http://flying.test", 1);
    take(&mut schedule, flying);
    let asking = schedule.origin_of("http://asking.test");
    schedule.origin_mut(asking).robots = RobotsState::Fetching { failures: 0, booked: flying, last: None };
    schedule.refresh(asking);
    assert!(schedule.close_idle(now, 9).is_empty());
    schedule.finished(flying, true, now);
    assert_eq!(schedule.close_idle(now, 9), [QueueId(BUCKETS + 2)]);
    assert_eq!(schedule.origin(queued).unclaimed, 1);
    assert_eq!(schedule.open_hosts(), 3);
}

#[test]
fn numbers_are_given_again_and_queues_never() {
    let mut schedule = small(2, politeness(0), false);
    let mut queues = HashSet::new();
    for n in 0..1000 {
        let id = open(&mut schedule, &format!("http://h{n}.test"), milliseconds(n)).expect("room");
        assert!(id.index() < 8);
        assert!(queues.insert(schedule.origin(id).queue));
        page(&mut schedule, id, milliseconds(n));
    }
}

#[test]
fn what_a_host_has_been_through_outlives_its_closing() {
    let mut schedule = small(1, Politeness { max_pages_per_host: Some(7), ..politeness(0) }, true);
    let now = milliseconds(10);
    let bad = schedule.origin_of("http://bad.test");
    schedule.host_failed(bad, milliseconds(1), milliseconds(2));
    schedule.host_failed(bad, milliseconds(3), milliseconds(4));
    for _ in 0..5 {
        schedule.recorded(bad);
    }
    let dead = schedule.origin_of("http://dead.test:81");
    schedule.give_up_origin(dead, DrainReason::HostUnreachable, &failure(ErrorKind::Connect));
    schedule.refresh(bad);
    assert_eq!(schedule.close_idle(now, 9).len(), 2);
    assert_eq!(schedule.open_hosts(), 0);

    let (reason, error) = schedule.standing("http://dead.test:81").expect("given up");
    assert_eq!((reason, error.expect("kept").kind), (DrainReason::HostUnreachable, ErrorKind::Connect));
    assert_eq!(schedule.standing("http://dead.test"), None, "its other ports were not");
    assert_eq!(schedule.standing("http://bad.test"), None);
    let dead = schedule.origin_of("http://dead.test:81");
    assert_eq!(schedule.drained(dead), Some(DrainReason::HostUnreachable));
    let bad = work(&mut schedule, "http://bad.test", 1);
    assert_eq!((schedule.host(bad).failures, schedule.host(bad).records), (2, 5));
    assert_eq!(schedule.pick(now), Pick::NotBefore(milliseconds(2004)), "its pause goes on");
    assert_eq!(schedule.host_failed(bad, now, now), Failed::GivenUp);
}

#[test]
fn a_saved_schedule_goes_on_where_it_was() {
    let limit = Politeness { max_pages_per_host: Some(7), ..politeness(500) };
    let mut schedule = small(100, limit.clone(), true);
    let epoch = 1_700_000_000_000_000;
    let names: Vec<String> = (0..6).map(|n| format!("http://h{n}.test")).collect();
    let ids: Vec<OriginId> = names.iter().map(|name| work(&mut schedule, name, 1)).collect();
    schedule.pause(ids[0], milliseconds(90_000));
    for at in 1..8 {
        schedule.recorded(ids[1]);
        if at < 4 {
            schedule.host_failed(ids[2], milliseconds(at), milliseconds(at));
        }
    }
    schedule.set_crawl_delay(ids[3], 20.0);
    schedule.give_up_origin(ids[4], DrainReason::RobotsUnreachable, &failure(ErrorKind::Other));
    let mut bytes = Vec::new();
    schedule.encode_host_state(epoch, &mut bytes);
    schedule.pause(ids[0], milliseconds(95_000));
    schedule.encode_host(ids[0], epoch, &mut bytes);

    let mut later = small(100, limit, true);
    let mut decoder = Decoder(&bytes);
    // The process was away for 30 s.
    later.restore(&mut decoder, epoch + 30_000_000).expect("whole");
    later.restore(&mut decoder, epoch + 30_000_000).expect("whole");
    assert!(decoder.is_empty());
    assert!(later.any_drained());
    let reasons = names.iter().map(|name| later.standing(name).map(|(reason, _)| reason));
    let (limit, host, robots) =
        (DrainReason::HostLimit, DrainReason::HostUnreachable, DrainReason::RobotsUnreachable);
    assert_eq!(reasons.collect::<Vec<_>>(), [None, Some(limit), Some(host), None, Some(robots), None]);
    for (name, at) in [(&names[0], 65_000), (&names[3], 20_000), (&names[5], 500)] {
        let id = work(&mut later, name, 1);
        assert_eq!(later.pick(milliseconds(1)), Pick::NotBefore(milliseconds(at)), "{name}");
        later.origin_mut(id).unclaimed = 0;
        later.refresh(id);
        later.pick(milliseconds(100_000));
    }
    for length in 0..bytes.len() - 1 {
        let mut cut = Decoder(&bytes[..length]);
        let whole = later.restore(&mut cut, epoch).and_then(|()| later.restore(&mut cut, epoch));
        assert_eq!(whole, Err(Malformed));
    }
}

#[test]
fn memory_does_not_grow_with_the_hosts_that_a_crawl_meets() {
    let share =
        HostShare { open_bytes: 1000 * 2600, residue_bytes: 1 << 20, closed_rules_bytes: 0, secret: 5 };
    let settings = Politeness { address_delay: Duration::from_millis(1), ..politeness(10) };
    let mut schedule = Schedule::new(settings, share, true);
    let rules = Arc::new(RobotsRules::parse(b"User-agent: *\nDisallow: /a\n", "dragline"));
    let (mut flying, mut most_open, mut most) = (VecDeque::new(), 0, 0);
    for n in 0..200_000_u64 {
        let now = Moment(n * 20);
        let name = format!("http://host-number-{n}.in-a-large-domain.test");
        let Some(id) = open(&mut schedule, &name, now) else { panic!("room is made") };
        schedule.pushed(id);
        schedule.resolving(id);
        let number = u32::try_from(n).expect("few");
        schedule.resolved(id, Some(std::net::Ipv4Addr::from_bits(number / 3).into()), Moment(u64::MAX));
        schedule.set_rules(id, rules.clone(), now.after(MINUTE), now);
        take(&mut schedule, id);
        flying.push_back(id);
        if flying.len() > 100 {
            let ended = flying.pop_front().expect("many");
            if n % 7 == 0 {
                schedule.host_failed(ended, now, now);
            }
            schedule.finished(ended, true, now);
        }
        schedule.pick(now);
        most_open = most_open.max(schedule.open_hosts());
        most = most.max(schedule.memory_bytes());
    }
    assert!((900..4000).contains(&most_open), "{most_open} hosts were open");
    assert!(most <= share.open_bytes + share.residue_bytes, "{most} bytes");
    let open = most_open;
    for (what, length) in [
        ("heap", schedule.heap.len()),
        ("idle", schedule.idle.len()),
        ("addresses", schedule.addresses.len()),
        ("addresses by number", schedule.address_numbers.len()),
        ("names of hosts", schedule.host_names.len()),
        ("names of origins", schedule.origin_names.len()),
    ] {
        assert!(length <= 3 * open + 64, "{what}: {length}");
    }
}

#[test]
fn large_rules_wait_in_line_and_the_last_one_is_never_refused() {
    let text: Vec<String> = (0..500).map(|n| format!("Disallow: /{n}")).collect();
    let text = text.join("\n");
    let rules = Arc::new(RobotsRules::parse(format!("User-agent: *\n{text}").as_bytes(), "dragline"));
    let bytes = rules.memory_bytes() as u64;
    let share = HostShare {
        open_bytes: 2 * bytes + 20_000,
        residue_bytes: 1 << 14,
        closed_rules_bytes: 0,
        secret: 5,
    };
    let mut schedule = Schedule::new(politeness(0), share, true);
    let ids: Vec<OriginId> = (0..6).map(|n| work(&mut schedule, &format!("http://h{n}.test"), 1)).collect();
    let now = milliseconds(1);
    let held: Vec<bool> =
        ids.iter().map(|id| schedule.set_rules(*id, rules.clone(), now.after(MINUTE), now)).collect();
    assert_eq!(held, [true, true, false, false, false, false]);
    assert!(schedule.memory_bytes() <= share.open_bytes + 1024);
    let mut done = Vec::new();
    while done.len() < ids.len() {
        let Pick::Origin(id) = schedule.pick(now) else { panic!("someone has rules, or may have") };
        if matches!(schedule.origin(id).robots, RobotsState::Unknown) {
            assert!(schedule.set_rules(id, rules.clone(), now.after(MINUTE), now), "room was promised");
        } else {
            take(&mut schedule, id);
            schedule.finished(id, true, now);
            done.push(id);
        }
    }
    let unique: HashSet<OriginId> = done.iter().copied().collect();
    assert!(unique.len() <= done.len());
    assert_eq!(schedule.pick(now), Pick::Nothing);

    let tiny = HostShare { open_bytes: 0, ..share };
    let mut schedule = Schedule::new(politeness(0), tiny, true);
    let only = work(&mut schedule, "http://only.test", 1);
    assert!(schedule.set_rules(only, rules, now.after(MINUTE), now));
}

#[test]
fn what_is_held_back_comes_back_host_by_host() {
    let mut schedule = schedule(politeness(0), false);
    let ids: Vec<OriginId> = (0..50).map(|n| work(&mut schedule, &format!("http://h{n}.test"), 2)).collect();
    schedule.wait(ids[7], attempt(1), milliseconds(30));
    schedule.hold_new(true);
    assert_eq!(schedule.pick(milliseconds(1)), Pick::NotBefore(milliseconds(30)));
    assert_eq!(schedule.pick(milliseconds(30)), Pick::Origin(ids[7]), "it was begun");
    assert!(schedule.take_waiting(ids[7], milliseconds(30), false).is_some());
    schedule.refresh(ids[7]);
    assert_eq!(schedule.pick(milliseconds(31)), Pick::Nothing);
    let mut picked = HashSet::new();
    for _ in 0..50 {
        schedule.hold_new(false);
        let Pick::Origin(id) = schedule.pick(milliseconds(32)) else { panic!("there is work") };
        take(&mut schedule, id);
        picked.insert(id);
        schedule.hold_new(true);
        assert_eq!(schedule.pick(milliseconds(32)), Pick::Nothing);
    }
    assert_eq!(picked.len(), 50);
}

#[test]
fn a_host_that_rests_lets_the_next_at_its_address_go() {
    let settings = Politeness { address_delay: Duration::from_secs(1), ..politeness(0) };
    let mut schedule = schedule(settings, false);
    let address = Some("127.0.0.1".parse().expect("an address"));
    let ids: Vec<OriginId> = (0..4).map(|n| work(&mut schedule, &format!("http://h{n}.test"), 1)).collect();
    for id in &ids {
        schedule.resolving(*id);
        schedule.resolved(*id, address, Moment(u64::MAX));
    }
    let now = milliseconds(0);
    assert_eq!(schedule.pick(now), Pick::Origin(ids[0]));
    take(&mut schedule, ids[0]);
    assert_eq!(schedule.pick(now), Pick::Nothing, "the others stand in line");
    schedule.finished(ids[0], true, now);
    schedule.pause(ids[1], milliseconds(60_000));
    schedule.origin_mut(ids[2]).unclaimed = 0;
    schedule.refresh(ids[2]);
    assert_eq!(schedule.pick(now), Pick::NotBefore(milliseconds(1000)));
    assert_eq!(schedule.pick(milliseconds(1000)), Pick::Origin(ids[3]));
    take(&mut schedule, ids[3]);
    schedule.finished(ids[3], true, milliseconds(1000));
    assert_eq!(schedule.pick(milliseconds(2000)), Pick::NotBefore(milliseconds(60_000)));
    assert_eq!(schedule.close_idle(milliseconds(2000), 9).len(), 3);
    assert_eq!(schedule.addresses.len(), 1);
}

proptest! {
    /// However hosts come and go: no host is asked before its delay has passed since it was last
    /// asked, open or not; none has more in flight than it may; none is lost.
    #[test]
    fn delays_hold_across_closing(
        pages in prop::collection::vec(0_usize..40, 1..150),
        delay in 0_u64..30,
        address_delay in 0_u64..2,
        room in 1_u64..6,
        residue_bytes in prop::sample::select(vec![0_u64, 1 << 12]),
        steps in prop::collection::vec((0_u64..15, any::<u8>()), 1..100),
    ) {
        let address_delay = Duration::from_millis(address_delay * 7);
        let share = HostShare { open_bytes: room * 1400, residue_bytes, closed_rules_bytes: 0, secret: 1 };
        let mut schedule = Schedule::new(Politeness { address_delay, ..politeness(delay) }, share, false);
        let mut queued: VecDeque<usize> = pages.iter().copied().collect();
        let mut asked = vec![0_usize; 40];
        let mut ended: HashMap<String, Moment> = HashMap::new();
        let mut flying: Vec<OriginId> = Vec::new();
        let mut now = milliseconds(0);
        let mut steps = steps.into_iter().cycle();
        let mut stuck = 0;
        loop {
            let (passes, which) = steps.next().expect("endless");
            now = now.after(Duration::from_millis(passes));
            while let Some(host) = queued.front() {
                let Some(id) = open(&mut schedule, &format!("http://h{host}.test"), now) else { break };
                schedule.pushed(id);
                queued.pop_front();
            }
            let pick = schedule.pick(now);
            match pick {
                Pick::Origin(id) => {
                    let name = schedule.origin(id).name.to_string();
                    prop_assert!(!flying.contains(&id), "one at a time");
                    if let Some(ended) = ended.get(&name) {
                        prop_assert!(now >= ended.after(Duration::from_millis(delay)), "{} too soon", name);
                    }
                    take(&mut schedule, id);
                    let host: usize = name[8..name.len() - 5].parse().expect("a number");
                    asked[host] += 1;
                    flying.push(id);
                }
                Pick::Address(id) => {
                    schedule.resolving(id);
                    let number = u32::try_from(id.index() % 2).expect("small");
                    schedule.resolved(id, Some(std::net::Ipv4Addr::from_bits(number).into()), Moment(u64::MAX));
                }
                Pick::NotBefore(at) if flying.is_empty() => {
                    let sooner = schedule.next_leaving(now).filter(|_| !queued.is_empty());
                    now = sooner.map_or(at, |sooner| sooner.min(at));
                }
                Pick::Nothing if flying.is_empty() => {
                    if queued.is_empty() { break }
                    let Some(at) = schedule.next_leaving(now) else {
                        prop_assert!(stuck < 3, "nobody may ever leave");
                        stuck += 1;
                        continue;
                    };
                    now = at;
                }
                _ => {}
            }
            stuck = 0;
            let waits = matches!(pick, Pick::NotBefore(_) | Pick::Nothing);
            if !flying.is_empty() && (which % 3 == 0 || waits) {
                let id = flying.swap_remove(usize::from(which) % flying.len());
                ended.insert(schedule.origin(id).name.to_string(), now);
                schedule.finished(id, true, now);
            }
        }
        let mut expected = vec![0_usize; 40];
        for host in &pages {
            expected[*host] += 1;
        }
        prop_assert_eq!(asked, expected);
    }
}

//! Rules that outlive the closing of their origins.

use super::opening::{open, page};
use super::*;
use crate::frontier::Pick;
use crate::robots::RobotsRules;

const MINUTE: Duration = Duration::from_secs(60);

fn visits(rules: Arc<RobotsRules>) -> impl Fn(&mut Schedule, &str, Moment) -> bool {
    // One visit: opened, its rules recalled or asked for, one page. Whether they were recalled.
    move |schedule, name, now| {
        let id = open(schedule, name, now).expect("room is made");
        let recalled = schedule.recall_rules(id, now);
        if matches!(schedule.origin(id).robots, RobotsState::Unknown) {
            schedule.set_rules(id, rules.clone(), now.after(24 * 60 * MINUTE), now);
        }
        page(schedule, id, now);
        recalled
    }
}

#[test]
fn a_scan_of_a_million_hosts_leaves_the_rules_of_those_in_use() {
    let share =
        HostShare { open_bytes: 20 * 2600, residue_bytes: 1 << 16, closed_rules_bytes: 72 << 10, secret: 5 };
    let mut schedule = Schedule::new(politeness(0), share, true);
    let visit = visits(Arc::new(RobotsRules::parse(b"User-agent: *\nDisallow: /a\n", "dragline")));
    let now = milliseconds(1);
    let (in_use, every) = (25, 10);
    let (mut visits, mut recalled, mut most) = (0, 0, 0);
    for number in 0..1_000_000_usize {
        assert!(!visit(&mut schedule, &format!("http://once-{number}.test"), now));
        if number % every == 0 {
            visits += 1;
            let name = format!("http://used-{}.test", number / every % in_use);
            recalled += usize::from(visit(&mut schedule, &name, now));
            most = most.max(schedule.closed_rules.bytes());
        }
    }
    assert!(most <= share.closed_rules_bytes, "{most} bytes");
    let kept = schedule.closed_rules.len() + schedule.open_origins();
    assert!(
        kept < in_use * every,
        "{kept}: by order of arrival or of use each would be gone when it comes again"
    );
    assert!(recalled * 10 > visits * 9, "{recalled} of {visits}");
}

#[test]
fn recalled_rules_hold_as_long_as_before_and_bring_their_delay_and_no_state_of_the_host() {
    let mut schedule = Schedule::new(politeness(0), SHARE, true);
    let body = b"User-agent: *\nCrawl-delay: 7\nDisallow: /a\n";
    let rules = Arc::new(RobotsRules::parse(body, "dragline"));
    let (now, until) = (milliseconds(1), milliseconds(100_000));
    let id = schedule.origin_of("http://a.test");
    schedule.set_crawl_delay(id, 7.0);
    schedule.set_rules(id, rules.clone(), until, now);
    assert_eq!(schedule.close_idle(now, 9).len(), 1);

    let id = work(&mut schedule, "http://a.test", 9);
    assert!(matches!(schedule.origin(id).robots, RobotsState::Unknown));
    schedule.host_mut(id).unanswered = 2;
    assert!(schedule.recall_rules(id, now), "they hold");
    assert!(!schedule.recall_rules(id, now), "they are its own now");
    assert_eq!(schedule.host(id).unanswered, 2, "nobody answered");
    assert_eq!(schedule.closed_rules.bytes(), 0);
    let RobotsState::Known { rules: recalled, until: still } = &schedule.origin(id).robots else {
        panic!("they were recalled")
    };
    assert_eq!((recalled, *still), (&rules, until));
    assert_eq!(schedule.pick(now), Pick::Origin(id));
    take(&mut schedule, id);
    schedule.finished(id, true, now);
    assert_eq!(schedule.pick(now), Pick::NotBefore(milliseconds(7001)));

    schedule.origin_mut(id).unclaimed = 0;
    schedule.refresh(id);
    let later = milliseconds(50_000);
    assert_eq!(schedule.close_idle(later, 9).len(), 1);
    let id = work(&mut schedule, "http://a.test", 1);
    assert!(!schedule.recall_rules(id, until), "they hold no more");
    assert!(!schedule.recall_rules(id, later), "and are gone");
}

#[test]
fn rules_that_found_no_room_are_not_asked_for_again() {
    let text: Vec<String> = (0..500).map(|n| format!("Disallow: /{n}")).collect();
    let rules =
        Arc::new(RobotsRules::parse(format!("User-agent: *\n{}", text.join("\n")).as_bytes(), "dragline"));
    let bytes = rules.memory_bytes() as u64;
    let share = HostShare { open_bytes: bytes + bytes / 2, closed_rules_bytes: 4 * bytes, ..SHARE };
    let mut schedule = Schedule::new(politeness(0), share, true);
    let now = milliseconds(1);
    let first = work(&mut schedule, "http://first.test", 1);
    let second = work(&mut schedule, "http://second.test", 1);
    assert!(schedule.set_rules(first, rules.clone(), now.after(MINUTE), now));
    assert!(!schedule.set_rules(second, rules, now.after(MINUTE), now));
    assert_eq!(schedule.pick(now), Pick::Origin(first));
    take(&mut schedule, first);
    schedule.finished(first, true, now);
    assert_eq!(schedule.pick(now), Pick::Origin(second));
    assert!(schedule.recall_rules(second, now));
    assert!(matches!(schedule.origin(second).robots, RobotsState::Known { .. }));
}

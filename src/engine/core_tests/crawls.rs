//! Single crawls of a simulated web, one for each thing that may happen on the way.

use super::*;

#[test]
fn every_reachable_page_is_asked_once_after_its_robots_txt() {
    let mut web = Web::default();
    web.page("http://a.test/", &["http://a.test/1", "http://a.test/2", "http://b.test/"])
        .page("http://a.test/1", &["http://a.test/", "http://a.test/2"])
        .page("http://a.test/2", &["http://a.test/1#part", "http://a.test/1"])
        .page("http://b.test/", &["http://a.test/"]);
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    assert_eq!(simulation.run(), EndReason::Done);
    assert!(simulation.requests().values().all(|times| *times == 1));
    assert_eq!(
        simulation.recorded(),
        ["http://a.test/", "http://a.test/1", "http://a.test/2", "http://b.test/"]
    );
    assert_eq!(simulation.log[0].url, "http://a.test/robots.txt");
}

#[test]
fn what_robots_txt_denies_is_skipped_and_counted() {
    let mut web = Web::default();
    web.page("http://a.test/", &["http://a.test/private/x", "http://a.test/open"])
        .page("http://a.test/open", &[])
        .robots
        .insert("http://a.test".into(), vec![Ok("User-agent: *\nDisallow: /private/\n")]);
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    simulation.run();
    assert_eq!(simulation.recorded(), ["http://a.test/", "http://a.test/open"]);
    assert_eq!(simulation.core.counters().skipped_after_queue.of(SkipReason::RobotsDenied), 1);
}

#[test]
fn a_robots_txt_that_cannot_be_reached_is_tried_thrice_and_closes_the_origin() {
    let mut web = Web::default();
    web.page("http://a.test/", &[]).robots.insert("http://a.test".into(), vec![Err(ErrorKind::Timeout)]);
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.requests().get("http://a.test/robots.txt"), Some(&3));
    assert_eq!(simulation.skipped(SkipReason::RobotsUnreachable), 1);
    assert!(simulation.recorded().is_empty());
}

#[test]
fn a_robots_txt_that_comes_late_opens_the_origin() {
    let mut web = Web::default();
    web.page("http://a.test/", &[])
        .robots
        .insert("http://a.test".into(), vec![Err(ErrorKind::Timeout), Err(ErrorKind::Timeout), Ok("")]);
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    simulation.run();
    assert_eq!(simulation.recorded(), ["http://a.test/"]);
}

#[test]
fn a_dead_host_is_given_up_and_what_was_never_asked_is_a_skip() {
    let mut web = Web::default();
    let dead: Vec<String> = (0..50).map(|n| format!("http://dead.test/{n}")).collect();
    web.answers("http://a.test/", vec![Answer::Links(dead.clone())]);
    for url in &dead {
        web.answers(url, vec![Answer::Fails(ErrorKind::Connect)]);
    }
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    assert_eq!(simulation.run(), EndReason::Done);
    let asked =
        simulation.requests().keys().filter(|url| url.starts_with("http://dead.test/")).count() as u64;
    let asked = asked - 1; // robots.txt
    let skipped = simulation.skipped(SkipReason::HostUnreachable);
    assert_eq!(asked + skipped, 50);
    assert_eq!(simulation.core.counters().failed, asked);
    assert!(asked < 20, "{asked} URLs of a dead host were asked");
}

#[test]
fn a_failed_page_is_tried_again_and_recorded_once() {
    let mut web = Web::default();
    web.page("http://a.test/", &["http://a.test/flaky", "http://a.test/broken"])
        .answers(
            "http://a.test/flaky",
            vec![Answer::Fails(ErrorKind::Timeout), Answer::Status(500), Answer::Links(vec![])],
        )
        .answers("http://a.test/broken", vec![Answer::Fails(ErrorKind::Timeout)]);
    let mut simulation = simulation(web, &["http://a.test/"], &with(|o| o.retries = Some(2)));
    simulation.run();
    assert_eq!(simulation.requests()["http://a.test/flaky"], 3);
    assert_eq!(simulation.requests()["http://a.test/broken"], 3);
    assert_eq!(simulation.recorded().len(), 3);
    assert_eq!((simulation.core.counters().ok, simulation.core.counters().failed), (2, 1));
}

#[test]
fn a_host_that_asks_to_slow_down_rests_as_a_whole() {
    let mut web = Web::default();
    let many: Vec<String> = (0..20).map(|n| format!("http://a.test/{n}")).collect();
    let mut first = many.clone();
    first.push("http://b.test/".to_owned());
    web.answers("http://a.test/", vec![Answer::Links(first)]).page("http://b.test/", &[]);
    for url in &many {
        web.page(url, &[]);
    }
    let wait = Duration::from_secs(7);
    web.answers("http://a.test/0", vec![Answer::SlowDown(Some(wait)), Answer::Links(vec![])]);
    let setup = Setup { delay: Duration::from_millis(10), ..Setup::default() };
    let mut simulation = simulation(web, &["http://a.test/"], &setup);
    simulation.run();
    let slowed = simulation.log.iter().position(|request| request.url == "http://a.test/0").expect("asked");
    let until = simulation.log[slowed].to.after(wait);
    for request in simulation.log[slowed + 1..].iter().filter(|request| request.host == "a.test") {
        assert!(request.from >= until, "{} was asked during the pause", request.url);
    }
    assert_eq!(simulation.recorded().len(), 22);
}

#[test]
fn a_redirect_is_a_link_and_a_loop_of_redirects_ends() {
    let mut web = Web::default();
    web.answers("http://a.test/a", vec![Answer::Redirect("http://a.test/b".into())])
        .answers("http://a.test/b", vec![Answer::Redirect("http://a.test/a".into())]);
    let mut simulation = simulation(web, &["http://a.test/a"], &Setup::default());
    simulation.run();
    assert_eq!(simulation.recorded(), ["http://a.test/a", "http://a.test/b"]);
    assert_eq!(simulation.core.counters().repeats, 1);
}

#[test]
fn a_seed_that_redirects_moves_its_scope_along() {
    let mut web = Web::default();
    web.answers("http://a.test/", vec![Answer::Redirect("http://www.a.test/".into())])
        .page("http://www.a.test/", &["http://www.a.test/1", "http://c.test/"])
        .page("http://www.a.test/1", &[]);
    let mut simulation = simulation(web, &["http://a.test/"], &with(|o| o.scope = Some(ScopeKind::Host)));
    simulation.run();
    assert_eq!(simulation.recorded(), ["http://a.test/", "http://www.a.test/", "http://www.a.test/1"]);
    assert_eq!(simulation.skipped(SkipReason::OutOfScope), 1);
    assert_eq!(simulation.core.counters().scope_moves, 1);
}

#[test]
fn the_page_limit_is_never_exceeded_and_what_is_left_stays_queued() {
    let mut web = Web::default();
    let many: Vec<String> = (0..100).map(|n| format!("http://a.test/{n}")).collect();
    web.answers("http://a.test/", vec![Answer::Links(many.clone())]);
    for url in &many {
        web.page(url, &[]);
    }
    web.latency = Duration::from_millis(5);
    let mut simulation =
        simulation(web, &["http://a.test/"], &with(|o| o.max_pages = Some(crate::config::Count(10))));
    assert_eq!(simulation.run(), EndReason::PageLimit);
    assert_eq!(simulation.recorded().len(), 10);
    assert_eq!(simulation.core.queued() + simulation.core.doubts_pending(), 91);
}

#[test]
fn the_limit_of_a_host_is_kept_and_the_others_go_on() {
    let mut web = Web::default();
    let many: Vec<String> =
        (0..30).flat_map(|n| [format!("http://a.test/{n}"), format!("http://b.test/{n}")]).collect();
    web.answers("http://a.test/", vec![Answer::Links(many.clone())]);
    for url in &many {
        web.page(url, &[]);
    }
    let mut simulation =
        simulation(web, &["http://a.test/"], &with(|o| o.max_pages_per_host = Some(crate::config::Count(5))));
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.recorded().len(), 10);
    assert_eq!(simulation.skipped(SkipReason::HostLimit), 51);
}

#[test]
fn a_slow_host_does_not_hold_up_the_others() {
    let mut web = Web::default();
    let slow: Vec<String> = (0..200).map(|n| format!("http://slow.test/{n}")).collect();
    let mut first = slow.clone();
    first.extend((0..20).map(|n| format!("http://h{n}.test/")));
    web.answers("http://slow.test/", vec![Answer::Links(first.clone())]);
    for url in &first {
        web.page(url, &[]);
    }
    web.robots.insert("http://slow.test".into(), vec![Ok("User-agent: *\nCrawl-delay: 10\n")]);
    let mut simulation = simulation(web, &["http://slow.test/"], &Setup::default());
    simulation.run();
    let last = simulation.log.iter().filter(|request| request.host != "slow.test").map(|request| request.to);
    let slow = simulation.log.iter().filter(|request| request.host == "slow.test").map(|request| request.to);
    assert!(last.max().expect("asked") < Moment::START.after(Duration::from_secs(30)));
    assert!(slow.max().expect("asked") >= Moment::START.after(Duration::from_secs(2000)));
}

#[test]
fn a_host_that_is_away_for_a_moment_loses_no_page() {
    let mut web = Web { latency: Duration::from_millis(5), ..Web::default() };
    let many: Vec<String> = (0..200).map(|n| format!("http://a.test/{n}")).collect();
    web.answers("http://a.test/", vec![Answer::Links(many.clone())]);
    for (number, url) in many.iter().enumerate() {
        // The first 32 to be asked are all in flight when the host goes away.
        let first = if number < 32 { vec![Answer::Fails(ErrorKind::Connect)] } else { vec![] };
        web.answers(url, [first, vec![Answer::Links(vec![])]].concat());
    }
    let setup = Setup { concurrency: 32, ..Setup::default() };
    let mut simulation = simulation(web, &["http://a.test/"], &setup);
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.core.counters().ok, 201);
    assert_eq!(simulation.core.counters().failed, 0);
}

#[test]
fn pages_that_answer_500_do_not_cost_the_rest_of_their_site() {
    let mut web = Web::default();
    let many: Vec<String> = (0..120).map(|n| format!("http://a.test/{n}")).collect();
    web.answers("http://a.test/", vec![Answer::Links(many.clone())]);
    for (number, url) in many.iter().enumerate() {
        let answer = if number < 20 { Answer::Status(500) } else { Answer::Links(vec![]) };
        web.answers(url, vec![answer]);
    }
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.recorded().len(), 121);
}

#[test]
fn spellings_that_lead_to_each_other_end_after_a_respelling_too() {
    let mut web = Web::default();
    web.page("http://a.test/", &["http://a.test/%7Ea"])
        .answers("http://a.test/%7Ea", vec![Answer::Gone("http://a.test/~a".into())])
        .answers("http://a.test/~a", vec![Answer::Same("http://a.test/%7ea".into())])
        .answers("http://a.test/%7ea", vec![Answer::Same("http://a.test/~a".into())]);
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.recorded().len(), 2);
    assert!(simulation.log.len() < 20, "{} requests", simulation.log.len());
}

#[test]
fn pages_that_fail_at_the_limits_do_not_exceed_them() {
    for (max_pages, max_pages_per_host) in [(Some(5), None), (None, Some(5))] {
        let mut web = Web { latency: Duration::from_millis(3), ..Web::default() };
        let many: Vec<String> = (0..40).map(|n| format!("http://a.test/{n}")).collect();
        web.answers("http://a.test/", vec![Answer::Links(many.clone())]);
        for (number, url) in many.iter().enumerate() {
            let fails = number % 2 == 0;
            web.answers(url, vec![if fails { Answer::Status(500) } else { Answer::Links(vec![]) }]);
        }
        let setup = with(|o| {
            o.max_pages = max_pages.map(crate::config::Count);
            o.max_pages_per_host = max_pages_per_host.map(crate::config::Count);
        });
        let mut simulation = simulation(web, &["http://a.test/"], &setup);
        let end = simulation.run();
        assert_eq!(simulation.recorded().len(), 5);
        assert_eq!(end, if max_pages.is_some() { EndReason::PageLimit } else { EndReason::Done });
    }
}

#[test]
fn what_is_excluded_is_not_fetched_even_where_a_seed_leads_there() {
    let mut web = Web::default();
    web.answers("http://a.test/", vec![Answer::Redirect("http://b.test/logout".into())])
        .page("http://b.test/logout", &[]);
    let setup = with(|o| {
        o.scope = Some(ScopeKind::Host);
        o.exclude = vec!["logout".to_owned()];
    });
    let mut simulation = simulation(web, &["http://a.test/"], &setup);
    simulation.run();
    assert_eq!(simulation.recorded(), ["http://a.test/"]);
}

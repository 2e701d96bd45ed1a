//! More hosts than there is memory for.

use super::*;

/// Room for so many hosts at least, and thrice as many whose rules are short.
fn room_for(hosts: u64) -> Setup {
    let share =
        HostShare { open_bytes: hosts * 2600, residue_bytes: 1 << 14, closed_rules_bytes: 0, secret: 3 };
    Setup { share, ..Setup::default() }
}

fn urls(prefix: &str, pages: impl Iterator<Item = usize>) -> Vec<String> {
    pages.map(|page| format!("{prefix}{page}")).collect()
}

#[test]
fn many_hosts_take_turns_in_a_small_share() {
    let mut web = Web { latency: Duration::from_millis(3), ..Web::default() };
    let hosts: Vec<String> = (0..300).map(|host| format!("http://h{host}.test")).collect();
    let starts: Vec<String> = hosts.iter().map(|host| format!("{host}/")).collect();
    web.answers("http://hub.test/", vec![Answer::Links(starts)]);
    let mut expected = vec!["http://hub.test/".to_owned()];
    for (number, host) in hosts.iter().enumerate() {
        let page = |name: &str| format!("{host}/{name}");
        let root = [page("a"), page("moved"), page("flaky"), page("down")];
        web.answers(&page(""), vec![Answer::Links(root.to_vec())]);
        web.answers(&page("a"), vec![Answer::Links(vec![format!("{}/late", hosts[(number + 150) % 300])])]);
        web.answers(&page("moved"), vec![Answer::Redirect(format!("{}/to", hosts[(number + 7) % 300]))]);
        web.answers(&page("flaky"), vec![Answer::Fails(ErrorKind::Timeout), Answer::Links(vec![])]);
        web.answers(&page("down"), vec![Answer::Status(500)]);
        web.answers(&page("late"), vec![Answer::Links(vec![])]);
        web.answers(&page("to"), vec![Answer::Links(vec![])]);
        match number % 30 {
            // Its robots.txt cannot be had: nothing of it is asked.
            3 => drop(web.robots.insert(host.clone(), vec![Err(ErrorKind::Timeout)])),
            _ => expected.extend(["", "a", "moved", "flaky", "down", "late", "to"].map(page)),
        }
    }
    // What only a closed host links to is never found.
    for number in (3..300).step_by(30) {
        for lost in
            [format!("{}/late", hosts[(number + 150) % 300]), format!("{}/to", hosts[(number + 7) % 300])]
        {
            expected.retain(|url| *url != lost);
        }
    }
    expected.sort();
    let mut simulation = simulation(web, &["http://hub.test/"], &room_for(8));
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.recorded(), expected);
    assert!((6..=26).contains(&simulation.most_open), "{} hosts were open", simulation.most_open);
    let pages = simulation.requests().into_iter().filter(|(url, _)| !url.ends_with("robots.txt"));
    for (url, times) in pages {
        let may = if url.ends_with("flaky") {
            2
        } else if url.ends_with("down") {
            3
        } else {
            1
        };
        assert!(times <= may, "{url} was asked {times} times");
    }
    let robots = simulation.log.iter().filter(|request| request.url.ends_with("robots.txt")).count();
    assert!(robots < 4 * 300, "{robots} requests for robots.txt");
}

/// Ten thousand hosts in sixteen of the buckets, and one among them that asks for a minute between two
/// requests: the others end as if it had no page at all.
#[test]
fn a_slow_host_does_not_hold_up_its_neighbours_in_their_bucket() {
    let schedule = Schedule::new(politeness(), room_for(20).share, true);
    let names = (0..).map(|n| format!("http://h{n}.test")).filter(|name| schedule.bucket(name).0 < 16);
    let names: Vec<String> = names.take(10_000).collect();
    let run = |slow: usize| {
        let mut web = Web { latency: Duration::from_millis(5), ..Web::default() };
        let (slow_host, hosts) = (&names[0], &names[1..]);
        // its pages wait before and among those of the others
        let mut links = urls(&format!("{slow_host}/"), 0..slow / 2);
        for (number, host) in hosts.iter().enumerate() {
            links.extend(urls(&format!("{host}/"), 0..2));
            if number.is_multiple_of(hosts.len() / 20) && number / (hosts.len() / 20) < slow / 2 {
                links.push(format!("{slow_host}/among{number}"));
            }
        }
        for url in &links {
            web.page(url, &[]);
        }
        web.answers("http://hub.test/", vec![Answer::Links(links.clone())]);
        web.robots.insert(slow_host.clone(), vec![Ok("User-agent: *\nCrawl-delay: 60\n")]);
        let mut simulation = simulation(web, &["http://hub.test/"], &room_for(20));
        assert_eq!(simulation.run(), EndReason::Done);
        assert_eq!(simulation.recorded().len(), links.len() + 1);
        assert!(simulation.most_open < 80, "{} hosts were open", simulation.most_open);
        let slow_name = crate::url::host_of(slow_host).to_owned();
        let others = simulation.log.iter().filter(|request| request.host != slow_name);
        others.map(|request| request.to).max().expect("they were asked")
    };
    let (absent, present) = (run(0), run(40));
    assert!(present.0 < absent.0 * 11 / 10, "{present:?} instead of {absent:?}");
}

fn politeness() -> Politeness {
    Politeness {
        delay: Duration::ZERO,
        random_wait: false,
        address_delay: Duration::ZERO,
        max_crawl_delay: Duration::from_secs(60),
        per_host: 1,
        concurrency: 8,
        host_failures: 5,
        max_pages_per_host: None,
        seed: 1,
    }
}

#[test]
fn waiting_hosts_fill_the_share_and_nothing_ends_too_soon() {
    let mut web = Web::default();
    let links: Vec<String> = (0..40).flat_map(|host| urls(&format!("http://h{host}.test/"), 0..2)).collect();
    for url in &links {
        web.page(url, &[]);
    }
    for host in 0..40 {
        web.robots.insert(format!("http://h{host}.test"), vec![Ok("User-agent: *\nCrawl-delay: 30\n")]);
    }
    web.answers("http://hub.test/", vec![Answer::Links(links.clone())]);
    // Neither for hosts nor for what is remembered of them is there much room.
    let mut setup = room_for(3);
    setup.share.residue_bytes = 0;
    let mut simulation = simulation(web, &["http://hub.test/"], &setup);
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.recorded().len(), 81);
    let mut last: HashMap<String, Moment> = HashMap::new();
    for request in simulation.log.iter().filter(|request| request.host != "hub.test") {
        if let Some(ended) = last.insert(request.host.clone(), request.to) {
            assert!(
                request.from >= ended.after(Duration::from_secs(30)),
                "{} was asked too soon",
                request.url
            );
        }
    }
}

#[test]
fn large_robots_files_take_turns_too() {
    let rules: Vec<String> = (0..4000).map(|n| format!("Disallow: /private/{n}/")).collect();
    let rules = rules.join("\n");
    let rules: &'static str = Box::leak(format!("User-agent: *\n{rules}").into_boxed_str());
    let bytes = RobotsRules::parse(rules.as_bytes(), "dragline").memory_bytes() as u64;
    let mut web = Web { latency: Duration::from_millis(2), ..Web::default() };
    let mut links = Vec::new();
    for host in 0..60 {
        let pages = urls(&format!("http://h{host}.test/"), 0..4);
        for url in &pages {
            web.page(url, &[]);
        }
        links.extend(pages);
        web.robots.insert(format!("http://h{host}.test"), vec![Ok(rules)]);
    }
    web.answers("http://hub.test/", vec![Answer::Links(links.clone())]);
    let mut setup = room_for(0);
    setup.share.open_bytes = 3 * bytes;
    let most = 4 * bytes + setup.share.residue_bytes;
    let mut simulation = simulation(web, &["http://hub.test/"], &setup);
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.recorded().len(), 241);
    assert!(simulation.most_bytes < most, "{} bytes", simulation.most_bytes);
    let robots = simulation.log.iter().filter(|request| request.url.ends_with("robots.txt")).count();
    assert!(robots <= 1 + 2 * 60, "{robots} requests for robots.txt");
}

#[test]
fn the_limit_of_a_host_outlives_its_closing() {
    let mut web = Web::default();
    // Each page leads to the next host, so that every host is met again and again.
    let page = |host: usize, page: usize| format!("http://h{}.test/{page}", host % 30);
    for host in 0..30 {
        for number in 0..12 {
            web.answers(
                &page(host, number),
                vec![Answer::Links(vec![page(host + 1, number), page(host + 1, number + 1)])],
            );
        }
    }
    let mut setup = room_for(3);
    setup.options.max_pages_per_host = Some(crate::config::Count(5));
    let mut simulation = simulation(web, &[&page(0, 0)], &setup);
    assert_eq!(simulation.run(), EndReason::Done);
    let mut records: BTreeMap<String, usize> = BTreeMap::new();
    for url in simulation.recorded() {
        *records.entry(crate::url::host_of(&url).to_owned()).or_default() += 1;
    }
    assert_eq!(records.len(), 30);
    assert!(records.values().all(|records| *records <= 5), "{records:?}");
    assert!(simulation.skipped(SkipReason::HostLimit) > 0);
    assert!(simulation.most_open < 8, "{} hosts were open", simulation.most_open);
}

#[test]
fn a_host_that_was_given_up_stays_so_when_it_is_closed() {
    let mut web = Web::default();
    let mut links = urls("http://dead.test/", 0..20);
    links.extend((0..60).map(|host| format!("http://h{host}.test/")));
    for host in 0..60 {
        web.answers(
            &format!("http://h{host}.test/"),
            vec![Answer::Links(urls("http://dead.test/late", host..=host))],
        );
    }
    web.answers("http://hub.test/", vec![Answer::Links(links)]);
    web.robots.insert("http://dead.test".into(), vec![Err(ErrorKind::Connect)]);
    let mut simulation = simulation(web, &["http://hub.test/"], &room_for(3));
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.recorded().len(), 61);
    assert_eq!(simulation.skipped(SkipReason::HostUnreachable), 80);
    assert_eq!(simulation.requests()["http://dead.test/robots.txt"], 3);
}

#[test]
fn dead_ports_of_a_host_cost_little_and_not_its_live_ones() {
    let mut web = Web::default();
    let mut links = urls("http://a.test/", 0..5);
    links.extend(urls("http://a.test:", 2000..3000).iter().map(|origin| format!("{origin}/")));
    links.insert(3, "http://a.test:8080/".into());
    for port in 2000..3000 {
        web.robots.insert(format!("http://a.test:{port}"), vec![Err(ErrorKind::Connect)]);
    }
    for url in links.iter().filter(|url| !url.contains(":2")) {
        web.page(url, &["http://a.test:8080/2"]);
    }
    web.page("http://a.test:8080/2", &[]);
    web.answers("http://a.test/", vec![Answer::Links(links)]);
    let mut simulation = simulation(web, &["http://a.test/"], &Setup::default());
    assert_eq!(simulation.run(), EndReason::Done);
    assert_eq!(simulation.recorded().len(), 8);
    assert_eq!(simulation.skipped(SkipReason::HostUnreachable), 1000);
    let robots = simulation.log.iter().filter(|request| request.url.ends_with("robots.txt")).count();
    assert!(robots < 60, "{robots} requests for robots.txt");
}

/// Three hosts link to ever more others, so that they are closed and opened again all the time.
#[test]
fn the_robots_txt_of_a_host_that_comes_again_is_not_asked_for_again() {
    let run = |closed_rules_bytes| {
        let mut web = Web { latency: Duration::from_millis(3), ..Web::default() };
        let mut expected = vec!["http://used0.test/0".to_owned()];
        for round in 0..40 {
            for used in 0..3 {
                let once = format!("http://once{used}-{round}.test/");
                // The next page of a host is found only at another one, when it has left.
                let next = if used < 2 {
                    format!("http://used{}.test/{round}", used + 1)
                } else {
                    format!("http://used0.test/{}", round + 1)
                };
                let others: Vec<String> =
                    (0..4).map(|n| format!("http://once{used}-{round}-{n}.test/")).collect();
                web.page(&format!("http://used{used}.test/{round}"), &[&once]);
                web.answers(&once, vec![Answer::Links(others.clone())]);
                for (number, other) in others.iter().enumerate() {
                    web.answers(
                        other,
                        vec![Answer::Links(if number == 3 { vec![next.clone()] } else { vec![] })],
                    );
                }
                expected.extend([once, next]);
                expected.extend(others);
            }
        }
        web.answers("http://used0.test/40", vec![Answer::Links(vec![])]);
        for used in 0..3 {
            web.robots.insert(
                format!("http://used{used}.test"),
                vec![Ok("User-agent: *\nCrawl-delay: 1\nDisallow: /no\n")],
            );
        }
        let mut setup = room_for(1);
        setup.share.closed_rules_bytes = closed_rules_bytes;
        let mut simulation = simulation(web, &["http://used0.test/0"], &setup);
        assert_eq!(simulation.run(), EndReason::Done);
        expected.sort();
        assert_eq!(simulation.recorded(), expected);
        let mut ended: HashMap<String, Moment> = HashMap::new();
        for request in simulation.log.iter().filter(|request| request.host.starts_with("used")) {
            if let Some(before) = ended.insert(request.host.clone(), request.to) {
                assert!(
                    request.from >= before.after(Duration::from_secs(1)),
                    "{} was asked too soon",
                    request.url
                );
            }
        }
        let robots = simulation.log.iter().filter(|request| request.url.ends_with("robots.txt"));
        robots.filter(|request| request.host.starts_with("used")).count()
    };
    let (kept, forgotten) = (run(48 << 10), run(0));
    assert!(forgotten > 20, "{forgotten}: they were not closed");
    assert!(kept < 10, "{kept} instead of {forgotten}");
}

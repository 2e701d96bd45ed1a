//! Names: looked up outside of the slots of requests, remembered, and what their failures mean.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use crate::harness::{crawl, crawl_guarded};
use crate::name_server::{NameServer, Reply};
use crate::server::{Answer, Script, Server, page};

fn loopback() -> Reply {
    Reply::Addresses(vec![Ipv4Addr::LOCALHOST.into()])
}

/// A server on which every host has the same pages.
fn site() -> Server {
    Server::start(
        Script::new().on("/", page(&["/a", "/b"])).on("/a", page::<&str>(&[])).on("/b", page(&["/"])),
    )
}

#[test]
fn slow_names_hold_up_only_their_own_hosts() {
    // room for a look-up of each
    slow_names("1GiB");
}

#[test]
fn slow_names_give_way_where_there_is_little_room() {
    // room for 16 look-ups at a time
    slow_names("20MiB");
}

fn slow_names(memory: &str) {
    let (silent, healthy) = (40, 20);
    let server = Arc::new(site());
    let fetched = Arc::clone(&server);
    // the silent ones are answered once all pages of the healthy ones have been asked for
    let names = NameServer::start(move |question, _| {
        if question.name.starts_with("silent") {
            let all = healthy * 3;
            let done = || fetched.pages().len() >= all;
            while !done() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        loopback()
    });
    let silent_seeds = (0..silent).map(|n| server.url_of(&format!("silent{n}.test"), "/"));
    let healthy_seeds = (0..healthy).map(|n| server.url_of(&format!("healthy{n}.test"), "/"));
    let mut arguments: Vec<String> = silent_seeds.chain(healthy_seeds).collect();
    // fewer slots than silent names: were a look-up to take one, nobody else would get on
    arguments.extend(["--dns".to_owned(), names.authority(), "--concurrency".into(), "4".into()]);
    arguments.extend(["--connect-timeout", "100s", "--memory", memory].map(str::to_owned));
    let run = crawl(&arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.pages.len(), 3 * (silent + healthy));
    assert!(run.pages.iter().all(|page| page["attempts"] == 1 && page["status"] == 200));
    let hosts: Vec<String> = server.log().into_iter().map(|request| request.host).collect();
    let first_silent = hosts.iter().position(|host| host.starts_with("silent")).unwrap();
    let last_healthy = hosts.iter().rposition(|host| host.starts_with("healthy")).unwrap();
    assert!(last_healthy < first_silent, "{hosts:?}");
    assert_eq!(run.skips("host_unreachable"), 0, "no look-up failed: {}", run.stderr);
}

#[test]
fn a_name_that_does_not_exist_is_a_verdict_on_all_that_its_host_has() {
    let names = NameServer::start(|question, _| match question.name.as_str() {
        "here.test" => loopback(),
        _ => Reply::NoSuchName(3600),
    });
    let server = Server::start(Script::new().rule(|request| {
        let port = request.header("host")?.rsplit_once(':')?.1;
        let links: Vec<String> = (0..20).map(|n| format!("http://gone.test:{port}/{n}")).collect();
        match request.path.as_str() {
            "/" => Some(page(&[links.as_slice(), &["/more".to_owned()]].concat())),
            "/more" => {
                Some(page(&[format!("http://gone.test:{port}/later"), format!("http://x.gone.test:{port}/")]))
            }
            _ => None,
        }
    }));
    let run = crawl(&[
        &server.url_of("here.test", "/"),
        "--dns",
        &names.authority(),
        "--scope",
        "any",
        "--concurrency",
        "1",
    ]);
    assert_eq!(run.urls(), [server.url_of("here.test", "/"), server.url_of("here.test", "/more")]);
    assert_eq!(run.skips("host_unreachable"), 22);
    for row in run.skipped.iter().filter(|row| row["reason"] == "host_unreachable") {
        assert!(row["detail"].as_str().unwrap().contains("no such host"), "{row}");
    }
    assert_eq!(names.asked("gone.test"), (1, 1), "{:?}", names.log());
    assert_eq!(names.asked("x.gone.test"), (1, 1));
    assert_eq!(names.asked("here.test"), (1, 1));
}

#[test]
fn a_server_that_fails_is_asked_again() {
    // one look-up puts each question twice at most
    let names = NameServer::start(|question, before| match question.name.as_str() {
        "mends.test" if before >= 2 => loopback(),
        _ => Reply::Failure,
    });
    let server = site();
    let run = crawl(&[
        server.url_of("mends.test", "/").as_str(),
        &server.url_of("never.test", "/"),
        "--dns",
        &names.authority(),
    ]);
    assert_eq!(run.pages.len(), 3, "{:?} {}", run.urls(), run.stderr);
    assert_eq!(run.skip_reason(&server.url_of("never.test", "/")), Some("host_unreachable"));
    assert!(names.asked("never.test").0 >= 3, "{:?}", names.log());
    assert!(server.log().iter().all(|request| request.host == "mends.test"));
}

#[test]
fn addresses_of_both_families_are_asked_for_and_tried() {
    let names = NameServer::start(|question, _| {
        let unused = IpAddr::from([127, 0, 0, 77]);
        match question.name.as_str() {
            // nothing listens at the first two
            "both.test" => {
                Reply::Addresses(vec![unused, Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()])
            }
            "six.test" => Reply::Addresses(vec![Ipv4Addr::LOCALHOST.to_ipv6_mapped().into()]),
            _ => Reply::NoSuchName(60),
        }
    });
    let server = site();
    let run = crawl(&[
        server.url_of("both.test", "/").as_str(),
        &server.url_of("six.test", "/"),
        "--dns",
        &names.authority(),
    ]);
    assert_eq!(run.pages.len(), 6, "{:?} {}", run.urls(), run.stderr);
    assert_eq!((names.asked("both.test"), names.asked("six.test")), ((1, 1), (1, 1)));
}

#[test]
fn a_public_name_of_a_private_address_is_refused() {
    let names = NameServer::start(|_, _| loopback());
    let evil = site();
    let server = Server::start(Script::new().rule({
        let links = [evil.url_of("inside.test", "/"), evil.url_of("inside.test", "/a")];
        move |request| (request.path == "/").then(|| page(&links))
    }));
    let run = crawl_guarded(&[&server.url("/"), "--dns", &names.authority(), "--scope", "any"]);
    assert_eq!(run.urls(), [server.url("/")]);
    assert_eq!(run.skips("private_address"), 2, "{:?}", run.skipped);
    assert_eq!(evil.log().len(), 0);
    assert_eq!(names.asked("inside.test"), (1, 1));
}

#[test]
fn what_needs_no_name_server_asks_none() {
    let names = NameServer::start(|_, _| Reply::Silence);
    let server = site();
    let run = crawl(&[
        server.url("/").as_str(),
        &server.url_of("ruled.test", "/"),
        "--resolve",
        &server.resolve("ruled.test"),
        "--dns",
        &names.authority(),
    ]);
    assert_eq!(run.pages.len(), 6, "{:?}", run.urls());
    assert_eq!(names.log(), []);
}

#[test]
fn a_redirect_to_another_name_waits_for_its_look_up() {
    let names = NameServer::start(|question, _| match question.name.as_str() {
        "nowhere.test" => Reply::NoSuchName(60),
        _ => loopback(),
    });
    let server =
        Server::start(Script::new().on_host("there.test", "/", Answer::html("there")).rule(|request| {
            let port = request.header("host")?.rsplit_once(':')?.1;
            let to = |host: &str| Some(Answer::redirect(302, &format!("http://{host}.test:{port}/")));
            match (request.host.as_str(), request.path.as_str()) {
                ("first.test", "/") => to("there"),
                ("second.test", "/") => to("nowhere"),
                _ => None,
            }
        }));
    let seeds = [server.url_of("first.test", "/"), server.url_of("second.test", "/")];
    let run = crawl(&[&seeds[0], &seeds[1], "--dns", &names.authority()]);
    assert_eq!(run.page(&server.url_of("there.test", "/"))["status"], 200);
    assert_eq!(run.skip_reason(&server.url_of("nowhere.test", "/")), Some("host_unreachable"));
    assert_eq!(run.pages.len(), 3, "{:?}", run.urls());
}

/// Loopback, in the families that are asked for.
fn loopback_of_both() -> Reply {
    Reply::Addresses(vec![Ipv4Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.to_ipv6_mapped().into()])
}

#[test]
fn one_family_that_is_answered_for_is_enough() {
    for ipv6_is_silent in [true, false] {
        let names = NameServer::start(move |question, _| {
            if question.ipv6 == ipv6_is_silent { Reply::Silence } else { loopback_of_both() }
        });
        let server = site();
        let run = crawl(&[&server.url_of("half.test", "/"), "--dns", &names.authority()]);
        assert_eq!(run.pages.len(), 3, "{:?} {}", run.urls(), run.stderr);
        assert!(run.pages.iter().all(|page| page["attempts"] == 1), "{:?}", run.pages);
        assert_eq!(run.skips("host_unreachable"), 0);
    }
}

#[test]
fn a_late_answer_for_the_family_that_can_be_reached_does_not_cost_the_host() {
    // nothing listens at the addresses that come in time
    let dead = |ipv6: bool| -> IpAddr {
        if ipv6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::new(127, 0, 0, 77).into() }
    };
    for (late_is_ipv6, late_by) in [(false, 2500), (true, 600)] {
        let names = NameServer::start(move |question, _| {
            if question.ipv6 != late_is_ipv6 {
                return Reply::Addresses(vec![dead(question.ipv6)]);
            }
            std::thread::sleep(Duration::from_millis(late_by));
            loopback_of_both()
        });
        for robots in ["obey", "ignore"] {
            let server = site();
            let url = server.url_of(&format!("{robots}.test"), "/");
            let run = crawl(&[&url, "--dns", &names.authority(), "--robots", robots]);
            assert_eq!(run.pages.len(), 3, "{robots}: {:?} {}", run.urls(), run.stderr);
            assert!(run.pages.iter().all(|page| page["status"] == 200), "{:?}", run.pages);
            let (ipv4, ipv6) = names.asked(&format!("{robots}.test"));
            assert!(ipv4.min(ipv6) >= 2, "half an answer came first: {:?}", names.log());
        }
    }
}

#[test]
fn one_family_that_fails_does_not_cost_the_other() {
    for ipv6_fails in [true, false] {
        for failure in [Reply::Failure, Reply::NoSuchName(60)] {
            let failure = failure.clone();
            let names = NameServer::start(move |question, _| {
                if question.ipv6 == ipv6_fails { failure.clone() } else { loopback_of_both() }
            });
            let server = site();
            let run = crawl(&[&server.url_of("half.test", "/"), "--dns", &names.authority()]);
            assert_eq!(run.pages.len(), 3, "{:?} {}", run.urls(), run.stderr);
        }
    }
}

#[test]
fn silence_for_both_families_is_no_verdict_and_ends() {
    let names = NameServer::start(|question, _| match question.name.as_str() {
        // that it has no address of one family says nothing of the other one
        "half.test" if !question.ipv6 => Reply::Addresses(Vec::new()),
        _ => Reply::Silence,
    });
    let server = site();
    let (silent, half) = (server.url_of("silent.test", "/"), server.url_of("half.test", "/"));
    let run = crawl(&[silent.as_str(), &half, "--dns", &names.authority(), "--connect-timeout", "400ms"]);
    for url in [&silent, &half] {
        assert_eq!(run.skip_reason(url), Some("host_unreachable"), "{}", run.stderr);
        assert!(run.skip_detail(url).unwrap().contains("look-up timed out"), "{:?}", run.skipped);
    }
    assert!(names.asked("half.test").0 >= 3, "asked again: {:?}", names.log());
}

#[test]
fn an_answer_that_is_too_long_is_asked_for_over_tcp_whatever_other_servers_do() {
    let silent = NameServer::start(|_, _| Reply::Silence);
    let long = NameServer::start(|_, _| Reply::TooLong(vec![Ipv4Addr::LOCALHOST.into()]));
    for servers in [[&silent, &long], [&long, &silent]] {
        let before = long.over_tcp();
        let server = site();
        let run = crawl(&[
            server.url_of("long.test", "/").as_str(),
            "--dns",
            &servers[0].authority(),
            "--dns",
            &servers[1].authority(),
        ]);
        assert_eq!(run.pages.len(), 3, "{:?} {}", run.urls(), run.stderr);
        assert!(long.over_tcp() > before);
    }
    assert!(!silent.log().is_empty(), "the first one is asked first");
}

#[test]
fn where_one_server_fails_the_next_one_is_asked() {
    let failing = NameServer::start(|_, _| Reply::Failure);
    let sound = NameServer::start(|question, _| match question.name.as_str() {
        "here.test" => loopback(),
        _ => Reply::NoSuchName(60),
    });
    let server = site();
    let gone = server.url_of("gone.test", "/");
    let run = crawl(&[
        server.url_of("here.test", "/").as_str(),
        &gone,
        "--dns",
        &failing.authority(),
        "--dns",
        &sound.authority(),
    ]);
    assert_eq!(run.pages.len(), 3, "{:?} {}", run.urls(), run.stderr);
    assert!(run.skip_detail(&gone).unwrap().contains("no such host"), "{:?}", run.skipped);
    assert_eq!((sound.asked("here.test"), sound.asked("gone.test")), ((1, 1), (1, 1)));
}

/// A listener whose queue is full, so that whoever connects waits for ever; and those who fill it.
fn full_listener(at: SocketAddr) -> (TcpListener, Vec<TcpStream>) {
    let listener = TcpListener::bind(at).unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&at, Duration::from_millis(300)) {
        waiting.push(stream);
        assert!(waiting.len() < 10_000, "the queue has no end");
    }
    (listener, waiting)
}

#[test]
fn a_host_whose_ipv6_leads_nowhere_is_reached_over_ipv4_and_the_reverse() {
    let server = site();
    let port: u16 = server.url("/").trim_end_matches('/').rsplit_once(':').unwrap().1.parse().unwrap();
    let silent = Ipv4Addr::new(127, 0, 0, 9);
    let _full = full_listener((silent, port).into());
    let refused = Ipv4Addr::new(127, 0, 0, 10);
    let sound = Ipv4Addr::LOCALHOST;
    let six = |address: Ipv4Addr| format!("[{}]", address.to_ipv6_mapped());
    for (name, dead, living) in [
        ("silent6.test", six(silent), sound.to_string()),
        ("refused6.test", six(refused), sound.to_string()),
        ("nothing6.test", "[::1]".to_owned(), sound.to_string()),
        ("silent4.test", silent.to_string(), six(sound)),
        ("refused4.test", refused.to_string(), six(sound)),
    ] {
        let rules = [format!("{name}:{dead}"), format!("{name}:{living}")];
        let arguments = [&server.url_of(name, "/"), "--resolve", &rules[0], "--resolve", &rules[1]];
        let run = crawl(&[&arguments[..], &["--connect-timeout", "20s"]].concat());
        assert_eq!(run.pages.len(), 3, "{name}: {:?} {}", run.urls(), run.stderr);
        assert!(run.pages.iter().all(|page| page["attempts"] == 1), "{name}: {:?}", run.pages);
    }
}

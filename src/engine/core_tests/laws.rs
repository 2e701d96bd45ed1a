//! Whatever the web, nothing is lost, doubled or hurried.

use super::*;

/// A random web of up to `n` pages on a few hosts.
fn webs() -> impl Strategy<Value = (Vec<Vec<usize>>, u64, Dedup, bool, bool, bool)> {
    let links = prop::collection::vec(prop::collection::vec(0_usize..60, 0..12), 2..60);
    (
        links,
        0_u64..40,
        prop::sample::select(vec![Dedup::TwoStage, Dedup::Exact]),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    )
}

fn address(page: usize) -> String {
    format!("http://h{}.test/{page}", page % 5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever the web and however small the filter, the table and the share of hosts: every reachable page
    /// once, the counts add up at every step, and no host is asked before its delay has passed.
    #[test]
    fn nothing_is_lost_doubled_or_hurried((links, delay, dedup, tiny, filter_grows, cramped) in webs()) {
        let mut web = Web { latency: Duration::from_millis(3), ..Web::default() };
        for (page, targets) in links.iter().enumerate() {
            let targets = targets.iter().map(|target| address(target % links.len())).collect();
            web.answers(&address(page), vec![Answer::Links(targets)]);
        }
        let mut setup = Setup { delay: Duration::from_millis(delay), ..Setup::default() };
        setup.options.dedup = Some(dedup);
        if tiny {
            setup.options.bits_per_url = Some(1.0);
            setup.options.expected_urls = Some(crate::config::Count(8));
            setup.table_bytes = 64;
            setup.doubts = 3;
            setup.filter_grows = filter_grows;
        }
        if cramped {
            setup.share = HostShare { open_bytes: 5000, residue_bytes: 0, closed_rules_bytes: 0, secret: delay };
        }
        let mut simulation = simulation(web, &[&address(0)], &setup);
        prop_assert_eq!(simulation.run(), EndReason::Done);

        let mut reachable = BTreeSet::from([0]);
        let mut todo = vec![0];
        while let Some(page) = todo.pop() {
            for target in &links[page] {
                let target = target % links.len();
                if reachable.insert(target) {
                    todo.push(target);
                }
            }
        }
        let mut expected: Vec<String> = reachable.into_iter().map(address).collect();
        expected.sort();
        prop_assert_eq!(simulation.recorded(), expected);
        let again = |url: &str| cramped && url.ends_with("/robots.txt");
        prop_assert!(simulation.requests().iter().all(|(url, times)| *times == 1 || again(url)));

        let last: Rc<RefCell<HashMap<String, Moment>>> = Rc::default();
        for request in &simulation.log {
            if let Some(ended) = last.borrow().get(&request.host) {
                prop_assert!(delay == 0 || request.from >= ended.after(Duration::from_millis(delay)));
            }
            last.borrow_mut().insert(request.host.clone(), request.to);
        }
    }
}

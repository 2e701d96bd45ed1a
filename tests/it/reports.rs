//! What users of other crawlers reported, rows of `tests/cases/report_cases.jsonl` in the areas of
//! links, addresses, rules, answers and traps: which test shows that it is otherwise here.
//!
//! [`crate::report_cases`] has the areas of visited sets, queues, resuming and ends.

use crate::harness::crawl;
use crate::server::{Answer, Script, Server, page};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

const ROWS: &str = include_str!("../cases/report_cases.jsonl");

/// The areas that [`TESTS`] must have all rows of; some of them have none yet.
const AREAS: &[&str] = &[
    "html-links",
    "url-norm",
    "robots",
    "sitemap",
    "redirects",
    "charset",
    "cookies",
    "politeness",
    "trap",
    "dns",
    "body",
    "security",
    "seeds",
];

/// A test: the file it stands in, and its name.
type Test = (&'static str, &'static str);

const LINKS: Test = ("src/extract/tests/reports.rs", "links_come_out_as_reported_right");
const CHARSETS: Test = ("src/extract/tests/reports.rs", "charsets_come_out_as_reported_right");
const ADDRESSES: &str = "src/url/tests/cases.rs";
const RULES: &str = "src/robots/tests/reported.rs";
const ROBOTS: &str = "tests/it/crawl/robots.rs";
const ACCESS: Test = ("tests/it/robots_access.rs", "every_row_is_crawled_as_it_must_be");
const POLITENESS: &str = "tests/it/crawl/politeness.rs";
const REDIRECTS: &str = "tests/it/crawl/redirects.rs";
const COOKIES: &str = "tests/it/crawl/cookies.rs";
const SECURITY: &str = "tests/it/crawl/security.rs";
const BODY: &str = "tests/it/crawl/body.rs";
const SITEMAP: &str = "tests/it/crawl/sitemap.rs";
const TRAPS: &str = "tests/it/crawl/traps.rs";
const HERE: &str = "tests/it/reports.rs";

/// The rows, and what shows each of them.
const TESTS: &[(&[&str], &[Test])] = &[
    // links
    (
        &[
            "C002", "C004", "C006", "C007", "C009", "C010", "C011", "C012", "C014", "C015", "C018", "C023",
            "C024",
        ],
        &[LINKS, ("src/extract/tests/reports.rs", "no_row_is_left_out")],
    ),
    // addresses
    (&["C027", "C028"], &[(ADDRESSES, "the_root_slash_is_there_and_others_count")]),
    (&["C030"], &[(ADDRESSES, "default_ports_go_and_others_stay")]),
    (&["C032", "C033", "C045"], &[(ADDRESSES, "hosts_have_their_ascii_form")]),
    (&["C034", "C035", "C036"], &[(ADDRESSES, "reserved_characters_are_never_decoded")]),
    (
        &["C037", "C040", "C043", "C048", "C049"],
        &[
            (ADDRESSES, "what_is_requested_stays_as_written"),
            ("tests/it/crawl/links.rs", "what_is_requested_is_the_link_as_written"),
        ],
    ),
    (&["C041"], &[(ADDRESSES, "fragments_count_only_when_asked")]),
    (
        &["C042"],
        &[
            (ADDRESSES, "queries_are_sent_in_the_encoding_of_the_document"),
            ("tests/it/crawl/links.rs", "a_query_is_coded_in_the_page_s_own_charset"),
        ],
    ),
    (
        &["C044"],
        &[(ADDRESSES, "session_ids_go_and_hosts_stay"), (HERE, "a_host_keeps_what_looks_like_a_session_id")],
    ),
    (
        &["C052"],
        &[
            (ADDRESSES, "what_cannot_be_crawled_is_said"),
            (HERE, "links_that_cannot_be_parsed_are_counted_and_asked_of_nobody"),
        ],
    ),
    // robots.txt, and what pages say to robots
    (&["C053"], &[(RULES, "a_byte_order_mark_does_not_hide_the_first_group")]),
    (&["C054", "C056", "C058", "C069"], &[(RULES, "groups")]),
    (&["C059"], &[(RULES, "allow_and_disallow")]),
    (&["C060", "C061"], &[(RULES, "operators")]),
    (&["C062", "C063"], &[(RULES, "escapes")]),
    (&["C064"], &[(ROBOTS, "an_unreachable_one_closes_its_host_and_no_other"), ACCESS]),
    (&["C065"], &[(ROBOTS, "a_busy_answer_is_waited_for_and_never_taken_for_permission"), ACCESS]),
    (&["C066"], &[(ROBOTS, "rules_from_another_host_hold_for_the_one_that_pointed_there"), ACCESS]),
    (&["C067"], &[(ROBOTS, "each_port_has_its_own")]),
    (&["C070"], &[(RULES, "long_files_and_long_lines")]),
    (
        &["C071"],
        &[
            (RULES, "delays"),
            (POLITENESS, "crawl_delay_is_honoured"),
            (POLITENESS, "crawl_delay_never_goes_below_the_delay"),
            (POLITENESS, "an_absurd_or_malformed_crawl_delay_does_not_stop_the_crawl"),
        ],
    ),
    (
        &["C073"],
        &[("tests/it/crawl/end.rs", "hosts_that_are_silent_do_not_keep_the_crawl_from_ending"), ACCESS],
    ),
    (
        &["C074"],
        &[
            ("src/extract/tests/units.rs", "x_robots_tag"),
            ("tests/it/crawl/links.rs", "nofollow_is_heeded_wherever_it_stands"),
        ],
    ),
    // politeness
    (&["C075"], &[(POLITENESS, "retry_after_pauses_the_whole_host_and_no_other")]),
    (&["C076"], &[(POLITENESS, "an_odd_retry_after_is_a_backoff_and_a_far_one_is_clamped")]),
    (&["C077"], &[(POLITENESS, "many_names_on_one_address_wait_for_each_other_with_ip_delay")]),
    // redirects and addresses that are nobody's business
    (&["C079"], &[(COOKIES, "a_bounce_that_sets_a_cookie_is_no_loop")]),
    (
        &["C080"],
        &[
            (REDIRECTS, "a_loop_of_two_is_two_records_and_a_repeat"),
            (REDIRECTS, "a_redirect_without_end_ends_at_the_limit"),
        ],
    ),
    (&["C082"], &[(REDIRECTS, "a_redirect_out_of_the_scope_is_not_followed")]),
    (
        &["C084"],
        &[
            (SECURITY, "private_addresses_are_refused_however_they_are_reached"),
            ("src/fetch/tests/guard.rs", "answers_of_dns_pass_the_guard_one_by_one"),
            ("tests/it/rough/mod.rs", "redirects_into_private_networks_are_not_followed"),
        ],
    ),
    // bodies and their charsets
    (&["C086"], &[(BODY, "layers_of_coding_have_a_bound")]),
    (&["C087"], &[(BODY, "a_plain_body_labelled_as_coded_is_read_as_it_is")]),
    (&["C090"], &[("tests/it/crawl/retries.rs", "a_body_that_stays_short_is_kept_and_said_to_be_short")]),
    (&["C093", "C094", "C095", "C096"], &[CHARSETS]),
    // cookies
    (&["C097"], &[(COOKIES, "ports_do_not_tell_cookies_apart_but_hosts_do")]),
    (&["C098"], &[(COOKIES, "a_cookie_for_a_public_suffix_is_refused")]),
    (&["C099"], &[(COOKIES, "a_value_set_on_a_redirect_is_used_at_once")]),
    (&["C100"], &[(SECURITY, "headers_of_the_user_stay_with_the_hosts_of_the_seeds")]),
    // sitemaps
    (&["C106"], &[(SITEMAP, "what_robots_txt_names_is_read_to_the_last_page")]),
    (&["C107"], &[(SITEMAP, "indexes_without_end_have_an_end")]),
    (&["C108"], &[(SITEMAP, "what_is_larger_than_the_protocol_allows_is_told_and_read")]),
    (&["C109"], &[(SITEMAP, "of_what_is_broken_the_beginning_counts")]),
    (&["C111"], &[(SITEMAP, "other_hosts_are_asked_only_where_one_in_scope_says_so")]),
    // traps, and what only looks like one
    (&["C143"], &[(TRAPS, "a_calendar_in_queries_ends_by_its_cap_and_is_told")]),
    (&["C144"], &[(TRAPS, "a_query_that_grows_is_cut")]),
    (&["C145"], &[(TRAPS, "a_path_that_repeats_itself_is_cut")]),
    (&["C146"], &[(TRAPS, "a_list_that_is_paged_by_query_is_fetched_whole")]),
];

#[test]
fn every_report_has_a_test() {
    let mut shown = BTreeSet::new();
    for id in TESTS.iter().flat_map(|(ids, _)| *ids) {
        assert!(shown.insert(*id), "{id} stands twice");
    }
    let rows: Vec<Value> = ROWS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_areas = rows.iter().filter(|row| AREAS.contains(&row["area"].as_str().unwrap()));
    let ids: BTreeSet<&str> = of_areas.map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(shown, ids);
}

/// Whether a source has a test of this name.
fn has_test(source: &str, name: &str) -> bool {
    let Some((before, _)) = source.split_once(&format!("fn {name}(")) else {
        return false;
    };
    // its attribute, and perhaps others, stand between it and the end of what is before
    let attributes = before.rsplit(['}', ';']).next().unwrap_or_default();
    attributes.contains("#[test]") || attributes.contains("#[tokio::test]")
}

#[test]
fn every_test_named_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (file, name) in TESTS.iter().flat_map(|(_, tests)| *tests) {
        let source = std::fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(has_test(&source, name), "{file} has no test {name}");
    }
}

#[test]
fn a_function_is_no_test() {
    assert!(has_test("}\n\n/// Why.\n#[test]\nfn a() {}", "a"));
    assert!(!has_test("#[test]\nfn b() { 1; }\nfn a() {}", "a"));
    assert!(!has_test("#[test]\nfn ab() {}", "a"));
}

/// A host is no path: nothing is cut out of it, and so no other host is asked.
#[test]
fn a_host_keeps_what_looks_like_a_session_id() {
    let server = Server::start(Script::new().rule(|request| {
        let port = request.header("host")?.rsplit_once(':')?.1;
        let link = format!("http://a.test;jsessionid=AB12.n_2:{port}/x?x=1");
        let own = "/p;jsessionid=AB12.node2_v?x=1".to_owned();
        Some(if request.path == "/" { page(&[link, own]) } else { Answer::html("x") })
    }));
    let seed = server.url_of("a.test", "/");
    let run = crawl(&[seed.as_str(), "--resolve", "a.test:127.0.0.1", "--strip-session-ids"]);
    assert_eq!(server.pages(), ["/", "/p;jsessionid=AB12.node2_v?x=1"], "{}", run.summary);
    let other = server.url_of("a.test;jsessionid=ab12.n_2", "/x?x=1");
    assert_eq!(run.skip_reason(&other), Some("out_of_scope"), "{:?}", run.skipped);
}

#[test]
fn links_that_cannot_be_parsed_are_counted_and_asked_of_nobody() {
    let links = ["http://a.test:99999/", "http://[::1/", "http://", "http://a b.test/"];
    let server = Server::start(Script::new().on("/", page(&links)).on("/x", Answer::html("x")));
    let run = crawl(&[server.url("/").as_str(), "--scope", "any"]);
    assert_eq!((server.pages(), run.code), (vec!["/".to_owned()], Some(0)), "{}", run.stderr);
    assert_eq!(run.skips("bad_url"), 4, "{:?}", run.skipped);
    assert_eq!(run.number("urls.discovered"), 5, "{}", run.summary);
}

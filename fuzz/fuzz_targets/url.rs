//! Any text as a reference on any page: it leads where the URL standard's parser says, and the laws of the
//! canonical form hold.
#![no_main]

use dragline::url::{Canonicalizer, Parts, Rules, Target};
use dragline_fuzz::{Input, input, lay, reports, rows};
use libfuzzer_sys::fuzz_target;

/// The canonical form is its own, and asking for it instead of the page changes nothing.
fn laws(canonicalizer: &Canonicalizer, target: &Target) {
    assert_eq!(Parts::of(&target.requested), target.parts, "of {}", target.requested);
    let again = canonicalizer.parse(&target.canonical).expect("a canonical form is a URL");
    assert_eq!(again.canonical, target.canonical, "of {}", target.requested);
    if canonicalizer.rules().keep_fragments {
        // what is requested has none
        return;
    }
    let requested = canonicalizer.parse(&target.requested).expect("what is requested is a URL");
    assert_eq!(requested.canonical, target.canonical, "of {}", target.requested);
    assert_eq!(requested.requested, target.requested);
}

fn seeds() -> Vec<Vec<u8>> {
    let pairs = rows("url_pairs.jsonl");
    let of_pair = pairs.iter().flat_map(|row| {
        let (one, other) = (row.text("a"), row.text("b"));
        let reference = other.strip_prefix("http://site.test").unwrap_or(other);
        [input(&[0], &[one], reference.as_bytes()), input(&[0xff], &[other], one.as_bytes())]
    });
    let reports = reports(&["url-norm", "redirects", "security"]);
    let of_report = reports.iter().map(|text| input(&[0], &["http://a.test/b/c?d"], text.as_bytes()));
    of_pair.chain(of_report).collect()
}

fuzz_target!(init: lay(seeds), |bytes: &[u8]| {
    let mut input = Input(bytes);
    let (switches, base) = (input.byte(), input.text());
    let Ok(reference) = std::str::from_utf8(input.0) else { return };
    let on = |bit: u8| switches & (1 << bit) != 0;
    let rules = Rules {
        sort_query: on(0),
        strip_tracking: on(1),
        strip_session_ids: on(2),
        fold_www: on(3),
        fold_https: on(4),
        strip_trailing_slash: on(5),
        keep_fragments: on(6),
        ..Rules::default()
    };
    let canonicalizer = Canonicalizer::new(rules);
    if let Ok(target) = canonicalizer.parse(reference) {
        laws(&canonicalizer, &target);
    }
    let Ok(page) = canonicalizer.parse(base) else { return };
    let base = url::Url::parse(&page.requested).expect("what is requested is a URL");
    let target = canonicalizer.resolver(&base, None).target(reference);
    // some that the standard allows the parser refuses
    if let Ok(url) = base.join(reference) {
        assert_eq!(target, canonicalizer.parse(url.as_str()));
    }
    if let Ok(target) = target {
        laws(&canonicalizer, &target);
    }
});

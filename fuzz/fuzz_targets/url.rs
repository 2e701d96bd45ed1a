#![no_main]
//! Any text as a reference on any page: no panic, and the laws of the canonical form hold.

use dragline::url::{Canonicalizer, Parts, Rules, Target};
use libfuzzer_sys::fuzz_target;

/// The canonical form is its own, and asking for it instead of the page changes nothing.
fn laws(canonicalizer: &Canonicalizer, target: &Target) {
    assert_eq!(Parts::of(&target.requested), target.parts, "of {}", target.requested);
    let again = canonicalizer.parse(&target.canonical).expect("a canonical form is a URL");
    assert_eq!(again.canonical, target.canonical, "of {}", target.requested);
    let requested = canonicalizer.parse(&target.requested).expect("what is requested is a URL");
    assert_eq!(requested.canonical, target.canonical, "of {}", target.requested);
    assert_eq!(requested.requested, target.requested);
}

fuzz_target!(|input: (&str, &str, u8)| {
    let (base, reference, switches) = input;
    let on = |bit: u8| switches & (1 << bit) != 0;
    let rules = Rules {
        sort_query: on(0),
        strip_tracking: on(1),
        strip_session_ids: on(2),
        fold_www: on(3),
        fold_https: on(4),
        strip_trailing_slash: on(5),
        ..Rules::default()
    };
    let canonicalizer = Canonicalizer::new(rules);
    if let Ok(target) = canonicalizer.parse(reference) {
        laws(&canonicalizer, &target);
    }
    let Ok(page) = canonicalizer.parse(base) else { return };
    let base = url::Url::parse(&page.requested).expect("what is requested is a URL");
    if let Ok(target) = canonicalizer.resolver(&base, None).target(reference) {
        laws(&canonicalizer, &target);
    }
});

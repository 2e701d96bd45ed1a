#![no_main]
//! Any bytes as robots.txt, any text as a path: no panic, and both answers agree.
use dragline::robots::RobotsRules;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&[u8], &str)| {
    let rules = RobotsRules::parse(input.0, "dragline");
    assert_eq!(rules.allowed(input.1), rules.verdict(input.1).allowed);
    assert!(rules.memory_bytes() <= size_of::<RobotsRules>() + 7 * input.0.len());
});

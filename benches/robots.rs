//! Reading and asking robots.txt, beside a plain scan over all rules.
//!
//! Each pair of measurements is interleaved: one side, the other, again and
//! again in one run, so that a busy machine slows both. Medians are printed,
//! and the ratio, which is what carries over to another machine.
#![allow(clippy::print_stdout)]

use dragline::robots::RobotsRules;
use std::hint::black_box;
use std::time::Instant;

/// Measurements of each side at most; the median of them is shown.
const ROUNDS: usize = 31;
/// Time for one comparison; slow ones have fewer rounds (but three), so that the whole stays short.
const COMPARISON_NS: f64 = 4e8;
/// A measurement repeats its work until it takes about this long.
const SLICE_NS: f64 = 1e6;

fn main() {
    println!("{:<52} {:>12}", "parse", "median ns");
    for (name, body) in [
        ("typical file, 2 KB", typical(2_000)),
        ("20,000 rules for us, 500 KiB", prefixes(20_000)),
        ("500 KiB for other agents", others(500 * 1024)),
    ] {
        let [time] = medians([&mut || RobotsRules::parse(body.as_bytes(), "dragline").rule_count()]);
        println!("{name:<52} {time:>12.0}");
    }
    println!("\n{:<52} {:>12} {:>12} {:>8}", "check, 80-byte path", "median ns", "scan ns", "scan ÷");
    for (name, body) in [
        ("10 prefix rules", prefixes(10)),
        ("1,000 prefix rules", prefixes(1_000)),
        ("20,000 prefix rules", prefixes(20_000)),
        ("10 rules with *", wildcards(10)),
        ("1,000 rules with *, one head", wildcards(1_000)),
        ("20,000 rules with *, one head", wildcards(20_000)),
    ] {
        compare(name, &body, &path(80));
    }
    println!("\n{:<52} {:>12} {:>12} {:>8}", "check, 2,000-byte path", "median ns", "scan ns", "scan ÷");
    compare("20,000 prefix rules", &prefixes(20_000), &path(2_000));
    compare("20,000 rules with *, one head", &wildcards(20_000), &path(2_000));
    compare("hostile: 30,000 rules of two letters", &hostile(), &hostile_path(2_000));
}

/// Prints the time of a check, that of the scan, and their ratio.
fn compare(name: &str, body: &str, path: &str) {
    let rules = RobotsRules::parse(body.as_bytes(), "dragline");
    let scan = Scan::new(body);
    assert_eq!(rules.allowed(path), scan.allowed(path), "{name}");
    let [ours, theirs] = medians([&mut || usize::from(rules.allowed(black_box(path))), &mut || {
        usize::from(scan.allowed(black_box(path)))
    }]);
    println!("{name:<52} {ours:>12.0} {theirs:>12.0} {:>8.1}", theirs / ours);
}

/// The median time of each side in nanoseconds, measured in turns.
fn medians<const N: usize>(mut sides: [&mut dyn FnMut() -> usize; N]) -> [f64; N] {
    let once = sides.each_mut().map(|side| timed(1, &mut **side).max(1.0));
    let repeats = once.map(|once| (SLICE_NS / once).clamp(1.0, 100_000.0) as usize);
    let round: f64 = once.iter().map(|once| once.max(SLICE_NS)).sum();
    let rounds = ((COMPARISON_NS / round) as usize).clamp(3, ROUNDS);
    let mut times = [const { Vec::new() }; N];
    for _ in 0..rounds {
        for ((side, times), repeats) in sides.iter_mut().zip(&mut times).zip(repeats) {
            times.push(timed(repeats, &mut **side));
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

fn timed(repeats: usize, side: &mut dyn FnMut() -> usize) -> f64 {
    let start = Instant::now();
    for _ in 0..repeats {
        black_box(side());
    }
    start.elapsed().as_nanos() as f64 / repeats as f64
}

/// What a straightforward crawler does: every rule, longest first, until one matches.
struct Scan(Vec<(bool, Vec<u8>)>);

impl Scan {
    fn new(body: &str) -> Self {
        let mut rules: Vec<(bool, Vec<u8>)> = body
            .lines()
            .filter_map(|line| line.split_once(": "))
            .filter(|(key, _)| key.ends_with("llow"))
            .map(|(key, value)| (key == "Allow", value.as_bytes().to_vec()))
            .collect();
        rules.sort_by_key(|(allow, value)| std::cmp::Reverse((value.len(), *allow)));
        Scan(rules)
    }

    fn allowed(&self, path: &str) -> bool {
        self.0.iter().find(|(_, rule)| matches(rule, path.as_bytes())).is_none_or(|(allow, _)| *allow)
    }
}

/// Two pointers, going back to the last `*` on a mismatch.
fn matches(rule: &[u8], path: &[u8]) -> bool {
    let (mut in_rule, mut in_path, mut back) = (0, 0, None);
    loop {
        match rule.get(in_rule) {
            None => return true,
            Some(b'*') => {
                back = Some((in_rule + 1, in_path));
                in_rule += 1;
            }
            Some(b'$') if in_rule + 1 == rule.len() && in_path == path.len() => return true,
            Some(octet) if path.get(in_path) == Some(octet) => {
                in_rule += 1;
                in_path += 1;
            }
            Some(_) => match back {
                Some((after_star, from)) if from < path.len() => {
                    back = Some((after_star, from + 1));
                    (in_rule, in_path) = (after_star, from + 1);
                }
                _ => return false,
            },
        }
    }
}

fn for_everyone(rules: impl Iterator<Item = String>) -> String {
    rules.fold(String::from("User-agent: *\n"), |out, rule| out + &rule + "\n")
}

/// A file as a shop or a forum has it: a few agents, some thirty rules for everyone.
fn typical(length: usize) -> String {
    let mut out =
        String::from("# welcome\nUser-agent: badbot\nDisallow: /\n\nUser-agent: *\nCrawl-delay: 2\n");
    for number in 0.. {
        if out.len() >= length {
            break;
        }
        let section = ["search", "cart", "account/orders", "print", "api/v1/internal"][number % 5];
        let form =
            [format!("/{section}/{number}/"), format!("/*?{section}={number}"), format!("/{section}*.php$")];
        out = out + "Disallow: " + &form[number % 3] + "\n";
    }
    out + "Sitemap: http://site.test/sitemap.xml\n"
}

fn prefixes(count: usize) -> String {
    for_everyone((0..count).map(|number| format!("Disallow: /section/{number}/")))
}

fn wildcards(count: usize) -> String {
    for_everyone((0..count).map(|number| format!("Disallow: /*/item-{number}/*")))
}

fn others(length: usize) -> String {
    let group = "User-agent: otherbot\nDisallow: /section/of/some/length\nAllow: /section/of\n\n";
    group.repeat(length / group.len())
}

/// Rules whose every sequence of four occurs in [`hostile_path`], so that each must be searched for.
fn hostile() -> String {
    for_everyone((0..30_000).map(|number| format!("Disallow: /*{}*/x", letters(15, number * 7 + 1))))
}

fn hostile_path(length: usize) -> String {
    format!("/{}", letters(length, 99))
}

/// A run of two letters without pattern (a xorshift generator).
fn letters(count: usize, seed: usize) -> String {
    let mut state = seed as u64 | 1 << 40;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if state >> 33 & 1 == 0 { 'a' } else { 'b' }
        })
        .collect()
}

fn path(length: usize) -> String {
    let mut out = String::from("/section/none/articles/2024/some-words-of-a-title/and-more");
    while out.len() < length {
        out.push_str("/item-and-page");
    }
    out.truncate(length);
    out
}

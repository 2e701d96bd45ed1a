//! Laws of the configuration as a whole.

use std::path::Path;
use std::time::Duration;

use clap::{Args, FromArgMatches};
use proptest::prelude::*;

use super::*;

fn command() -> clap::Command {
    Options::augment_args(clap::Command::new("dragline"))
}

/// Options as if typed; in the environment of the test nothing is set.
fn typed(arguments: &[&str]) -> Options {
    let line = std::iter::once("dragline").chain(arguments.iter().copied());
    let matches = command().try_get_matches_from(line).expect("valid arguments");
    Options::from_arg_matches(&matches).expect("valid arguments")
}

fn resolved(arguments: &[&str]) -> Result<Config, String> {
    typed(arguments).resolve().map_err(|error| error.to_string())
}

fn refused(arguments: &[&str]) -> String {
    resolved(arguments).expect_err(&arguments.join(" "))
}

fn thawed(config: &Config) -> Config {
    let text = Options::from(config).to_toml().expect("Unicode paths");
    let options = Options::from_toml(&text, Path::new("crawl.toml")).expect("what was written");
    options.resolve().expect("a resolved configuration")
}

#[test]
fn every_option_has_flag_environment_and_default() {
    for argument in command().get_arguments() {
        let name = argument.get_long().expect("every option is a long flag");
        let variable = format!("DRAGLINE_{}", name.replace('-', "_").to_uppercase());
        assert_eq!(argument.get_env().and_then(|text| text.to_str()), Some(variable.as_str()));
        assert!(defaults::describe(name).is_some(), "{name} has no described default");
        assert!(argument.get_help().is_some(), "{name} has no help");
    }
}

#[test]
fn keys_are_the_flags() {
    let written = Options {
        seeds: vec!["a".into()],
        output: Some("o".into()),
        fresh: Some(true),
        progress: Some(ProgressMode::Plain),
        ..Options::from(&Config {
            expected_urls: Some(1),
            depth: Some(1),
            max_pages: Some(1),
            max_pages_per_host: Some(1),
            max_time: Some(Duration::from_secs(1)),
            max_disk: Some(1 << 30),
            sitemap_since: Some("30d".into()),
            ca_file: Some("c".into()),
            proxy: Some("http://p".into()),
            ..Config::default()
        })
    };
    let text = written.to_toml().expect("Unicode");
    let table: toml::Table = text.parse().expect("TOML");
    let flags: Vec<String> =
        command().get_arguments().filter_map(|argument| argument.get_long().map(Into::into)).collect();
    for flag in &flags {
        assert!(table.contains_key(flag) || flag == "fp-rate", "{flag}");
    }
    for key in table.keys() {
        assert!(flags.contains(key) || key == "urls", "{key}");
    }
}

#[test]
fn nothing_typed_gives_the_defaults() {
    let config = resolved(&[]).expect("valid");
    assert_eq!(config, Config { concurrency: config.concurrency, ..Config::default() });
    assert_eq!(config.per_host, 1);
    let quick = resolved(&["--delay", "0s"]).expect("valid");
    assert_eq!(quick.per_host, quick.concurrency);
}

#[test]
fn flags_read_what_the_issue_shows() {
    let config = resolved(&[
        "--memory",
        "64MiB",
        "--max-pages",
        "10_000",
        "--delay",
        "250ms",
        "--max-time",
        "1h30m",
        "--random-wait",
        "--expected-urls",
        "1M",
        "-d",
        "0",
        "-A",
        "bot/2",
        "-H",
        "Cookie: a=b",
        "--strip-params",
        "a,b",
        "--resolve",
        "*.a.test:8080:127.0.0.1",
        "--dedup",
        "bloom",
        "--filter",
        "classic",
        "--fold-www=false",
    ])
    .expect("valid");
    assert_eq!(config.memory, 64 << 20);
    assert_eq!(config.max_pages, Some(10_000));
    assert_eq!(config.delay, Duration::from_millis(250));
    assert_eq!(config.max_time, Some(Duration::from_secs(5400)));
    assert_eq!(config.expected_urls, Some(1_000_000));
    assert_eq!(config.depth, Some(0));
    assert_eq!(config.headers, [("Cookie".to_owned(), "a=b".to_owned())]);
    assert_eq!(config.canonicalization.strip_params, ["a", "b"]);
    assert!(config.random_wait && !config.canonicalization.fold_www);
}

#[test]
fn upper_layers_win() {
    let file = Options::from_toml(
        "depth = 3\nrandom-wait = true\ninclude = ['a']\nbits-per-url = 12.0\n",
        Path::new("f"),
    );
    let file = file.expect("valid");
    let merged = typed(&["--depth", "1", "--random-wait=false", "--fp-rate", "0.02"]).over(file.clone());
    assert_eq!((merged.depth, merged.random_wait), (Some(1), Some(false)));
    assert_eq!((merged.bits_per_url, merged.fp_rate), (None, Some(0.02)));
    assert_eq!(merged.include, ["a"]);
    assert_eq!(typed(&["--include", "b"]).over(file.clone()).include, ["b"]);
    assert_eq!(typed(&[]).over(file.clone()), file);
}

#[test]
fn contradictions_and_ranges_name_the_remedy() {
    let rows: [(&[&str], &str); 22] = [
        (&["--bits-per-url", "8", "--fp-rate", "0.1"], "--bits-per-url and --fp-rate contradict"),
        (&["--bits-per-url", "0"], "between 1 and 64"),
        (&["--fp-rate", "0"], "--fp-rate 0: must lie between"),
        (&["--expected-urls", "0"], "more than zero"),
        (&["--per-host", "2"], "--delay 0s"),
        (&["--per-host", "9", "--delay", "0s", "--concurrency", "4"], "raise --concurrency"),
        (&["--per-host", "0"], "between 1 and"),
        (&["--concurrency", "0"], "between 1 and"),
        (&["--max-pages", "0"], "leave it out"),
        (&["--max-time", "0s"], "more than zero"),
        (&["--timeout", "0s"], "more than zero"),
        (&["--max-body", "0"], "more than zero"),
        (&["--max-url-length", "1"], "between 64 and"),
        (&["--stats-interval", "1ms"], "at least 100ms"),
        (&["--strip-params", "a,,b"], "name is empty"),
        (&["--strip-params", "a=1,b"], "'=' or '&'"),
        (&["--strip-params", "a&b"], "'=' or '&'"),
        (&["--memory", "2000TiB"], "more than any machine has"),
        (&["--memory", "24"], "--memory 24: these are 24 bytes; write 24MiB"),
        (&["--memory", "24KiB"], "--memory 24KiB is too little"),
        (&["--dns", "127.0.0.1:0"], "--dns 127.0.0.1:0: nobody can be asked at port 0"),
        (&["--dns", "here"], "is no address"),
    ];
    for (arguments, part) in rows {
        let message = refused(arguments);
        assert!(message.contains(part), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn the_smallest_memory_named_works() {
    for more in [&[][..], &["--concurrency", "256"], &["--expected-urls", "10M"], &["--dedup", "exact"]] {
        let with = |memory: &str| resolved(&[&["--memory", memory], more].concat());
        let message = with("1MiB").expect_err("too little");
        assert!(message.starts_with("--memory 1MiB is too little: the smallest budget"), "{message}");
        let smallest = message.rsplit(' ').next().expect("a figure");
        let config = with(smallest).expect("the smallest that works");
        assert!(with(&format!("{}", config.memory - 1)).is_err());
    }
}

#[test]
fn certificates_are_looked_at() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ca.pem");
    let name = path.to_str().expect("Unicode");
    assert!(refused(&["--ca-file", name]).contains("cannot be read"));
    std::fs::write(&path, "no certificate").expect("written");
    assert!(refused(&["--ca-file", name]).contains("PEM"));
    std::fs::write(&path, "-----BEGIN CERTIFICATE-----\n").expect("written");
    assert!(resolved(&["--ca-file", name]).is_ok());
}

fn flags() -> impl Strategy<Value = Vec<String>> {
    let option = prop_oneof![
        (20..5000_u64).prop_map(|mebibytes| vec![format!("--memory={mebibytes}MiB")]),
        (1.0..64.0_f64).prop_map(|bits| vec![format!("--bits-per-url={bits}")]),
        (1e-6..0.5_f64).prop_map(|rate| vec![format!("--fp-rate={rate}")]),
        (1..100_000_u64).prop_map(|urls| vec![format!("--expected-urls={urls}")]),
        (1..40_u32).prop_map(|number| vec![
            "--delay=0s".into(),
            format!("--per-host={number}"),
            "--concurrency=64".into()
        ]),
        (0..1_u64 << 50).prop_map(|time| vec![format!("--max-crawl-delay={time}ns")]),
        (0..1_u64 << 50).prop_map(|time| vec![format!("--ip-delay={time}ns")]),
        proptest::sample::select(vec!["page", "prefix", "host", "domain", "any"])
            .prop_map(|scope| vec![format!("--scope={scope}")]),
        proptest::sample::select(vec!["two-stage", "bloom", "exact"])
            .prop_map(|dedup| vec![format!("--dedup={dedup}")]),
        "[a-z\"'\\\\é]{0,8}".prop_map(|text| vec![format!("-HX-Test: {text}")]),
        "[a-z\"' ]{1,8}".prop_map(|text| vec![format!("--exclude={text}")]),
        (any::<[u8; 16]>(), proptest::option::of(1..u16::MAX)).prop_map(|(address, port)| {
            let port = port.map_or_else(String::new, |port| format!(":{port}"));
            vec![format!("--resolve=*.a.test{port}:[{}]", std::net::Ipv6Addr::from(address))]
        }),
        proptest::sample::select(vec![
            "--random-wait",
            "--fold-www",
            "--insecure",
            "--log-skipped",
            "--sort-query"
        ])
        .prop_map(|flag| vec![flag.to_owned()]),
    ];
    proptest::collection::vec(option, 0..6).prop_map(|options| options.concat())
}

proptest! {
    #[test]
    fn a_frozen_configuration_thaws_to_itself(flags in flags()) {
        let line = std::iter::once("dragline".to_owned()).chain(flags);
        // The same option twice is refused; such lines say nothing here.
        if let Ok(matches) = command().try_get_matches_from(line) {
            let options = Options::from_arg_matches(&matches).expect("parsed");
            if let Ok(config) = options.resolve() {
                prop_assert_eq!(thawed(&config), config);
            }
        }
    }
}

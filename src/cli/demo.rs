//! `dragline demo`: the synthetic website, crawled here or served to others.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;
use dragline::config::{Count, Options, Span};

use super::{ExitCode, Failure, crawl, glue, layers};

/// The shared options that matter here.
pub(super) const OPTIONS: [&str; 11] = [
    "output",
    "fresh",
    "progress",
    "memory",
    "bits-per-url",
    "expected-urls",
    "fp-rate",
    "dedup",
    "filter",
    "concurrency",
    "max-pages",
];

/// Where the demonstration leaves its crawl, unless told.
const OUTPUT: &str = "crawl-demo";

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Only serve the website, until stopped, for another process to crawl
    #[arg(long)]
    serve: bool,
    /// Pages that can be reached
    #[arg(long, value_name = "N", default_value = "10_000")]
    pages: Count,
    /// Host names they are spread over
    #[arg(long, value_name = "H", default_value = "4")]
    hosts: Count,
    /// Address the website listens on; port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    for (option, count) in [("pages", arguments.pages), ("hosts", arguments.hosts)] {
        if count.0 == 0 {
            return Err(Failure::new(
                ExitCode::Usage,
                format!("--{option} 0: must be more than zero"),
            ));
        }
    }
    if arguments.hosts > arguments.pages {
        let message = "--hosts: more than --pages; every host needs a page";
        return Err(Failure::new(ExitCode::Usage, message));
    }
    if arguments.serve {
        return glue::serve(arguments.pages.0, arguments.hosts.0, arguments.listen);
    }
    let site = glue::start_site(arguments.pages.0, arguments.hosts.0, arguments.listen)?;
    let typed = layers::merged(arguments.options, matches, None)?;
    // Whatever else is set, the demonstration crawls its own website, without a pause.
    let options = Options {
        urls: site.seeds.clone(),
        seeds: Vec::new(),
        resolve: site.resolve.clone(),
        delay: Some(Span(Duration::ZERO)),
        allow_private: Some(true),
        output: Some(typed.output.clone().unwrap_or_else(|| PathBuf::from(OUTPUT))),
        ..typed
    };
    eprintln!("dragline: the same as\n  {}", equivalent(&options)?);
    crawl::start(&options)
}

/// The `crawl` command that does the same.
fn equivalent(options: &Options) -> Result<String, Failure> {
    let table: toml::Table = options.to_toml()?.parse().unwrap_or_default();
    let mut words = vec!["dragline crawl".to_owned()];
    for (key, value) in table.iter().filter(|(key, _)| *key != "urls") {
        match value {
            toml::Value::Array(values) => {
                words.extend(values.iter().map(|value| format!("--{key} {}", quoted(value))));
            }
            toml::Value::Boolean(true) => words.push(format!("--{key}")),
            toml::Value::Boolean(false) => words.push(format!("--{key}=false")),
            value => words.push(format!("--{key} {}", quoted(value))),
        }
    }
    words.extend(
        options
            .urls
            .iter()
            .map(|url| quoted(&toml::Value::from(url.as_str()))),
    );
    Ok(words.join(" "))
}

/// A value as a shell takes it.
fn quoted(value: &toml::Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,=+%@".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equivalent_command_is_complete_and_quoted() {
        let options = Options {
            urls: vec!["http://h0.site.test:8080/".into()],
            resolve: vec!["*.site.test:8080:127.0.0.1".into()],
            delay: Some(Span(Duration::ZERO)),
            allow_private: Some(true),
            exclude: vec!["it's".into()],
            output: Some("my crawl".into()),
            ..Options::default()
        };
        let line = equivalent(&options).expect("Unicode");
        for part in [
            "dragline crawl ",
            " --output 'my crawl'",
            " --delay 0s",
            " --allow-private",
            " --resolve '*.site.test:8080:127.0.0.1'",
            r" --exclude 'it'\''s'",
        ] {
            assert!(line.contains(part), "{line}");
        }
        assert!(line.ends_with(" http://h0.site.test:8080/"), "{line}");
    }
}

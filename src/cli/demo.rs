//! `dragline demo`: the synthetic website, crawled here or served to others.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use std::sync::Arc;

use clap::ArgMatches;
use dragline::config::{Count, Options, Span};
use dragline::site::{Site, SiteSettings, serve};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::layers::{self, Layers};
use super::quoting::quoted;
use super::{ExitCode, Failure, crawl, print, say};

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

/// The shared options that the demonstration decides itself: it crawls its own website, without a pause.
const OWN: [&str; 4] = ["seeds", "resolve", "delay", "allow-private"];

/// The shared options whose defaults are others here.
pub(super) const DEFAULTS: [(&str, &str); 1] = [("output", OUTPUT)];

/// The same website each time.
const SITE_SEED: u64 = 1;
/// The website leaves the rest of the machine to whoever crawls it.
const SITE_THREADS: usize = 1;
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
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = address)]
    listen: SocketAddr,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(arguments: Arguments, matches: &ArgMatches) -> Result<ExitCode, Failure> {
    for (option, count) in [("pages", arguments.pages), ("hosts", arguments.hosts)] {
        if count.0 == 0 {
            return Err(Failure::new(ExitCode::Usage, format!("--{option} 0: must be more than zero")));
        }
    }
    if arguments.hosts > arguments.pages {
        let message = "--hosts: more than --pages; every host needs a page";
        return Err(Failure::new(ExitCode::Usage, message));
    }
    if arguments.serve {
        layers::refuse_typed(
            matches,
            "demo --serve",
            |_| true,
            "does not crawl, and has no use for it; leave it out",
        )?;
        return serve_until_stopped(site(arguments.pages, arguments.hosts)?, arguments.listen);
    }
    let decides = |option: &str| OWN.contains(&option);
    layers::refuse_typed(matches, "demo", decides, "crawls its own website without a pause; leave it out")?;
    let site = site(arguments.pages, arguments.hosts)?;
    let address = serve_beside(site.clone(), arguments.listen)?;
    let mut layers = Layers::merge(arguments.options, matches, None)?;
    let typed = layers.options;
    // Whatever else is set, the demonstration crawls its own website, without a pause.
    layers.options = Options {
        urls: site.seed_urls(address.port()),
        seeds: Vec::new(),
        resolve: site.resolve_flags(address),
        delay: Some(Span(Duration::ZERO)),
        allow_private: Some(true),
        output: Some(typed.output.clone().unwrap_or_else(|| PathBuf::from(OUTPUT))),
        ..typed
    };
    say::line(&format!("dragline: as long as this runs, the same as\n  {}", equivalent(&layers.options)?));
    let (pages, hosts) = (arguments.pages, arguments.hosts);
    let again = format!("dragline demo --serve --pages {pages} --hosts {hosts} --listen {address}");
    crawl::start(&layers, Some(&again))
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "not an address with a port (write 127.0.0.1:8080 or [::1]:8080)".to_owned())
}

fn site(pages: Count, hosts: Count) -> Result<Arc<Site>, Failure> {
    let hosts = u32::try_from(hosts.0).unwrap_or(u32::MAX);
    let settings = SiteSettings { pages: pages.0, hosts, seed: SITE_SEED };
    let site = Site::new(settings).map_err(|error| Failure::new(ExitCode::Usage, error.to_string()))?;
    Ok(Arc::new(site))
}

fn runtime() -> Result<Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(SITE_THREADS).enable_all().build();
    built.map_err(|error| Failure::new(ExitCode::Failed, format!("cannot start the website: {error}")))
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Failure {
    let message = format!("--listen {address}: {error}; give another address or port");
    Failure::new(ExitCode::Configuration, message)
}

/// Serves the website until the process is told to stop.
fn serve_until_stopped(site: Arc<Site>, listen: SocketAddr) -> Result<ExitCode, Failure> {
    runtime()?.block_on(async {
        let listener = TcpListener::bind(listen).await.map_err(|error| cannot_listen(listen, &error))?;
        let address = listener.local_addr().map_err(|error| cannot_listen(listen, &error))?;
        print(&site.banner(address))?;
        let stopped = async {
            let _ = tokio::signal::ctrl_c().await;
        };
        let served = serve(site, listener, stopped).await;
        let report = served.map_err(|error| Failure::new(ExitCode::Failed, error.to_string()))?;
        say::line(&format!("dragline: {} requests answered", report.requests));
        Ok(ExitCode::Done)
    })
}

/// Serves the website from a thread of its own for as long as this process lives; returns where.
fn serve_beside(site: Arc<Site>, listen: SocketAddr) -> Result<SocketAddr, Failure> {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = match runtime() {
            Ok(runtime) => runtime,
            Err(failure) => return tell.send(Err(failure)).unwrap_or(()),
        };
        runtime.block_on(async {
            let bound =
                TcpListener::bind(listen).await.and_then(|listener| Ok((listener.local_addr()?, listener)));
            match bound {
                Ok((address, listener)) => {
                    let _ = tell.send(Ok(address));
                    let _ = serve(site, listener, std::future::pending::<()>()).await;
                }
                Err(error) => tell.send(Err(cannot_listen(listen, &error))).unwrap_or(()),
            }
        });
    });
    told.recv().unwrap_or_else(|_| Err(Failure::new(ExitCode::Failed, "the website did not start")))
}

/// The `crawl` command that does the same.
fn equivalent(options: &Options) -> Result<String, Failure> {
    let table: toml::Table = options.to_toml()?.parse().unwrap_or_default();
    let mut words = vec!["dragline crawl".to_owned()];
    for (key, value) in table.iter().filter(|(key, _)| *key != "urls") {
        match value {
            toml::Value::Array(values) => {
                words.extend(values.iter().map(|value| format!("--{key} {}", word(value))));
            }
            toml::Value::Boolean(true) => words.push(format!("--{key}")),
            toml::Value::Boolean(false) => words.push(format!("--{key}=false")),
            value => words.push(format!("--{key} {}", word(value))),
        }
    }
    words.extend(options.urls.iter().map(|url| quoted(url)));
    Ok(words.join(" "))
}

/// A value as a shell takes it.
fn word(value: &toml::Value) -> String {
    quoted(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
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

//! Any text as a configuration file: what is read can be written and means the same when it is read again; and any
//! text as a date.
#![no_main]

use std::path::Path;

use dragline::Options;
use dragline::config::date::moments;
use dragline_fuzz::{lay, options, peak_of};
use libfuzzer_sys::fuzz_target;

fn read(text: &str) -> Option<Options> {
    Options::from_toml(text, Path::new("crawl.toml")).ok()
}

fn seeds() -> Vec<Vec<u8>> {
    let config = options().resolve().expect("valid options");
    let frozen = Options::from(&config).to_toml().expect("TOML");
    let mut seeds: Vec<Vec<u8>> = frozen.lines().map(|line| line.as_bytes().to_vec()).collect();
    let others = [
        "memory = '64MiB'\nmax-pages = '1M'\ndelay = 1.5\ntimeout = 20\nstrip-params = ['a', 'b']\nscope = 'domain'\n",
        "fp-rate = 0.01\nexclude = '-a'\nheader = []\nconcurrency = 0x10\nurls = ['http://a.test/']\n",
        "header = ['X: y']\nresolve = ['*.a.test:80:127.0.0.1', 'b.test:[::1]']\ndns = ['192.0.2.1:53']\n",
        "proxy = 'socks5://127.0.0.1:9'\nsitemap-since = '2026-01-31'\nip-delay = '2m'\n",
        "2026-01-31T12:00:00.5+01:00",
        "2026-02",
        "[crawl]\ndepth = 1",
    ];
    seeds.extend(others.map(|text| text.as_bytes().to_vec()));
    seeds.push(frozen.into_bytes());
    seeds
}

fuzz_target!(init: lay(seeds), |bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(span) = moments(text) {
        assert!(span.start() <= span.end());
    }
    let (options, peak) = peak_of(|| read(text));
    assert!(peak <= (4 << 20) + 256 * bytes.len(), "{peak} bytes for a file of {}", bytes.len());
    let Some(options) = options else { return };
    let written = options.to_toml().expect("a path that was text");
    assert_eq!(read(&written).as_ref(), Some(&options), "{written}");
    let Ok(config) = options.resolve() else { return };
    let frozen = Options::from(&config).to_toml().expect("TOML");
    let again = read(&frozen).expect("a frozen configuration");
    assert_eq!(again.resolve().as_ref().ok(), Some(&config), "{frozen}");
});

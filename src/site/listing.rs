//! How the site's hosts are written in URLs, and the lists of them for people and checkers.
//!
//! It must not know of sockets or counters.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::words::push_number;
use super::{Kind, Place, Site};

/// What every host name of the site ends in.
const DOMAIN: &str = ".site.test";

/// Hosts whose seeds the banner shows.
const SEEDS_SHOWN: usize = 1_000;

/// How the hosts of the site are written in a URL.
///
/// By name as a rule. A site of one host also answers under any other authority (its
/// plain address, say) and then writes its URLs under that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    port: u16,
    authority: Option<String>,
}

impl Naming {
    /// Names with a port, such as `h0.site.test:8080`.
    pub fn by_name(port: u16) -> Naming {
        Naming { port, authority: None }
    }

    /// Appends scheme, host and port, as URLs of the site begin.
    pub(super) fn write_origin(&self, host: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(b"http://");
        if let Some(authority) = &self.authority {
            out.extend_from_slice(authority.as_bytes());
            return;
        }
        out.push(b'h');
        push_number(host, 1, out);
        out.extend_from_slice(DOMAIN.as_bytes());
        if self.port != 80 {
            out.push(b':');
            push_number(u32::from(self.port), 1, out);
        }
    }
}

impl Site {
    /// The URL of a place.
    pub fn url(&self, place: Place, naming: &Naming) -> String {
        let mut url = Vec::with_capacity(128);
        naming.write_origin(place.host, &mut url);
        self.write_path(place, &mut url);
        String::from_utf8_lossy(&url).into_owned()
    }

    /// Every page that can be reached, by host and number.
    pub fn truth(&self, naming: &Naming) -> impl Iterator<Item = String> + Send + use<> {
        let (site, naming) = (*self, naming.clone());
        site.places(Kind::Page).map(move |place| site.url(place, &naming))
    }

    /// The seed of every host, by name; a site of one host is as well reached at the plain address
    /// it is served at, which is what its banner shows.
    pub fn seed_urls(&self, port: u16) -> Vec<String> {
        self.seeds(&Naming::by_name(port)).collect()
    }

    fn seeds(&self, naming: &Naming) -> impl Iterator<Item = String> + Send + use<> {
        let (site, naming) = (*self, naming.clone());
        (0..site.host_count()).map(move |host| site.url(Place { kind: Kind::Page, host, index: 0 }, &naming))
    }

    /// What `--resolve` must be given (`HOST:PORT:ADDR`) for the names of the hosts to lead to `address`.
    pub fn resolve_flags(&self, address: SocketAddr) -> Vec<String> {
        let port = address.port();
        let flag = match reachable(address.ip()) {
            IpAddr::V4(ip) => format!("*{DOMAIN}:{port}:{ip}"),
            IpAddr::V6(ip) => format!("*{DOMAIN}:{port}:[{ip}]"),
        };
        vec![flag]
    }

    /// The lines of `/_seeds`: a list of seeds that can be used as it stands, with what else a
    /// person or a script needs in comments (`# --resolve HOST:PORT:ADDR` on a line of its own).
    pub(super) fn seeds_file(
        &self,
        naming: &Naming,
        address: SocketAddr,
    ) -> impl Iterator<Item = String> + Send + use<> {
        let mut comments = vec![format!("# {}", self.summary())];
        comments.extend(self.resolve_flags(address).iter().map(|flag| format!("# --resolve {flag}")));
        comments.into_iter().chain(self.seeds(naming))
    }

    /// What a person reads when the site is served at `address`: sizes, a seed per host, the
    /// `--resolve` needed, and a command that crawls it. Whole lines.
    pub fn banner(&self, address: SocketAddr) -> String {
        let here = SocketAddr::new(reachable(address.ip()), address.port());
        let naming =
            Naming { port: address.port(), authority: (self.host_count() == 1).then(|| here.to_string()) };
        let mut text = format!("serving at http://{here}/: {}\n", self.summary());
        let seeds = self.host_count() as usize;
        for seed in self.seeds(&naming).take(SEEDS_SHOWN) {
            // writing to a string cannot fail
            let _ = writeln!(text, "seed {seed}");
        }
        if seeds > SEEDS_SHOWN {
            let _ = writeln!(text, "and {} more at http://{here}/_seeds", seeds - SEEDS_SHOWN);
        }
        let mut resolve = String::new();
        for flag in self.resolve_flags(address) {
            let _ = writeln!(text, "--resolve {flag}");
            let _ = write!(resolve, " --resolve '{flag}'");
        }
        let _ = writeln!(
            text,
            "lists: http://{here}/_seeds (seeds), http://{here}/_truth (every page), http://{here}/_log (requests per URL)\n\
             crawl it: curl -s http://{here}/_seeds | dragline crawl --delay 0s --allow-private{resolve} -i -"
        );
        text
    }

    fn summary(&self) -> String {
        format!(
            "{} pages, {} hosts, site seed {}; a complete crawl has {} records: the pages, {} redirects, {} missing; \
             {} linked URLs are disallowed",
            self.page_count(),
            self.host_count(),
            self.settings().seed,
            self.record_count(),
            self.redirect_count(),
            self.missing_count(),
            self.disallowed_count(),
        )
    }

    /// Which host of the site a `Host` header means, and how URLs are written for who sent it.
    pub(super) fn read_authority(&self, authority: &str) -> (Option<u32>, Naming) {
        let (name, port) = split_port(authority);
        if self.host_count() == 1 {
            let authority = is_plain(authority).then(|| authority.to_ascii_lowercase());
            return (Some(0), Naming { port, authority });
        }
        (self.host_number(name), Naming::by_name(port))
    }

    /// The number in `h{number}.site.test`, spelled in any case.
    fn host_number(&self, name: &str) -> Option<u32> {
        let (label, domain) = name.split_at_checked(name.len().checked_sub(DOMAIN.len())?)?;
        let digits = label.strip_prefix(['h', 'H'])?;
        let is_canonical = digits == "0" || !digits.starts_with(['0', '+']);
        let number = digits.parse().ok()?;
        (domain.eq_ignore_ascii_case(DOMAIN) && is_canonical && number < self.host_count()).then_some(number)
    }
}

/// An address that a client can use: a listener on every address is reached on loopback.
fn reachable(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

/// Host and port; 80 where there is none or none that can be read.
fn split_port(authority: &str) -> (&str, u16) {
    match authority.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port.parse().unwrap_or(80)),
        _ => (authority, 80),
    }
}

/// Whether an authority can be written into URLs and documents as it stands.
fn is_plain(authority: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    !authority.is_empty() && authority.len() <= 300 && authority.bytes().all(allowed)
}

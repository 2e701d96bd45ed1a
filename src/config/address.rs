//! Grammar of addresses: name servers, and the rules of `--resolve`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{ConfigError, ResolveRule};

/// A name server as `ADDR` or `ADDR:PORT`.
pub(super) fn name_server(text: &str) -> Result<SocketAddr, ConfigError> {
    const PORT: u16 = 53;
    let text = text.trim();
    let wrong = |problem: &str| {
        let grammar = "give one such as 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53";
        ConfigError::value("dns", text, format!("{problem}; {grammar}"))
    };
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let server = bare.parse::<IpAddr>().map(|address| SocketAddr::new(address, PORT));
    match server.or_else(|_| text.parse()) {
        Err(_) => Err(wrong("is no address")),
        Ok(server) if server.port() == 0 => Err(wrong("nobody can be asked at port 0")),
        Ok(server) => Ok(server),
    }
}

/// `HOST[:PORT]:ADDR`, IPv6 addresses in brackets.
pub(super) fn resolve_rule(text: &str) -> Result<ResolveRule, ConfigError> {
    let wrong = |problem: &str| {
        let grammar =
            "write HOST[:PORT]:ADDR, such as example.com:443:192.0.2.1 or example.com:[2001:db8::1]";
        ConfigError::value("resolve", text, format!("{problem}; {grammar}"))
    };
    let (target, address) = split_address(text).ok_or_else(|| wrong("no address at the end"))?;
    let (host, port) = split_port(target);
    let port = match port {
        None => None,
        Some(port) => match port.parse::<u16>() {
            Ok(number) if number > 0 && port.bytes().all(|byte| byte.is_ascii_digit()) => Some(number),
            _ => return Err(wrong(&format!("'{port}' is no port"))),
        },
    };
    let host = host_name(host).ok_or_else(|| wrong(&format!("'{host}' is no host name")))?;
    Ok(ResolveRule { host, port, address })
}

/// The address at the end of a rule, and what stands before its colon.
fn split_address(text: &str) -> Option<(&str, IpAddr)> {
    if let Some(rest) = text.strip_suffix(']') {
        let (target, address) = rest.rsplit_once(":[")?;
        return Some((target, IpAddr::V6(address.parse::<Ipv6Addr>().ok()?)));
    }
    let (target, address) = text.rsplit_once(':')?;
    Some((target, IpAddr::V4(address.parse::<Ipv4Addr>().ok()?)))
}

/// Host and port; the colons of an IPv6 literal in brackets are the host's.
fn split_port(target: &str) -> (&str, Option<&str>) {
    match target.rsplit_once(':') {
        Some((host, port)) if !target.ends_with(']') => (host, Some(port)),
        _ => (target, None),
    }
}

/// A host name in lower case and ASCII form, perhaps behind `*.`.
fn host_name(text: &str) -> Option<String> {
    let (prefix, name) = match text.strip_prefix("*.") {
        Some(name) => ("*.", name),
        None => ("", text),
    };
    let host = ::url::Host::parse(name).ok()?;
    let is_name = matches!(host, ::url::Host::Domain(_));
    // The parser lets a few characters through that no name has, the wildcard among them.
    (!name.contains('*') && (is_name || prefix.is_empty())).then(|| format!("{prefix}{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Option<(String, Option<u16>, String)> {
        let rule = resolve_rule(text).ok()?;
        Some((rule.host, rule.port, rule.address.to_string()))
    }

    fn row(host: &str, port: Option<u16>, address: &str) -> (String, Option<u16>, String) {
        (host.into(), port, address.into())
    }

    #[test]
    fn name_servers() {
        for (text, server) in [
            ("192.0.2.1", "192.0.2.1:53"),
            (" 192.0.2.1:5353 ", "192.0.2.1:5353"),
            ("[2001:db8::1]", "[2001:db8::1]:53"),
            ("2001:db8::1", "[2001:db8::1]:53"),
            ("[::1]:1", "[::1]:1"),
        ] {
            assert_eq!(name_server(text).expect(text).to_string(), server);
        }
        for text in ["", "dns.test", "127.0.0.1:0", "[::1]:0", "127.0.0.1:65536", "127.0.0.1:"] {
            assert!(name_server(text).is_err(), "{text}");
        }
    }

    #[test]
    fn resolve_rules() {
        assert_eq!(rule("a.test:127.0.0.1"), Some(row("a.test", None, "127.0.0.1")));
        assert_eq!(rule("A.Test:80:127.0.0.1"), Some(row("a.test", Some(80), "127.0.0.1")));
        assert_eq!(rule("*.a.test:8080:127.0.0.1"), Some(row("*.a.test", Some(8080), "127.0.0.1")));
        assert_eq!(rule("a.test:[::1]"), Some(row("a.test", None, "::1")));
        assert_eq!(rule("a.test:443:[2001:db8::1]"), Some(row("a.test", Some(443), "2001:db8::1")));
        assert_eq!(rule("bücher.example:192.0.2.1"), Some(row("xn--bcher-kva.example", None, "192.0.2.1")));
        assert_eq!(rule("[::1]:80:127.0.0.1"), Some(row("[::1]", Some(80), "127.0.0.1")));
    }

    #[test]
    fn no_resolve_rules() {
        for text in [
            "",
            ":",
            "a.test",
            "a.test:",
            "a.test:::1",
            "a.test:0:127.0.0.1",
            "a.test:65536:127.0.0.1",
            "a.test:+80:127.0.0.1",
            "a.test:http:127.0.0.1",
            ":127.0.0.1",
            "*:127.0.0.1",
            "*.:127.0.0.1",
            "a.*.test:127.0.0.1",
            "a.test:80:[::1",
            "a b:127.0.0.1",
            "*.127.0.0.1:127.0.0.1",
            "a.test:80:b.test",
        ] {
            assert_eq!(rule(text), None, "{text}");
        }
    }
}

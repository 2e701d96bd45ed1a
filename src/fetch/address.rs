//! The address guard: which addresses a crawl may connect to.
//!
//! Owns the table of special-purpose addresses and the list of places that the
//! user typed and thereby allowed. Knows nothing of DNS or connections; it is
//! asked about one address at a time.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::SeedHost;

/// Why an address is refused, in the words of the special-purpose registries
/// (RFC 6890 and what IANA added since).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// `0.0.0.0/8`, `::`.
    Unspecified,
    /// `127.0.0.0/8`, `::1`.
    Loopback,
    /// RFC 1918, RFC 4193 and the deprecated site-local addresses.
    Private,
    /// Shared by a carrier and its customers (RFC 6598).
    Shared,
    /// `169.254.0.0/16`, `fe80::/10`.
    LinkLocal,
    /// A cloud's metadata service outside the ranges above.
    Metadata,
    /// Many receivers.
    Multicast,
    /// Examples in texts (RFC 5737, RFC 3849, RFC 9637).
    Documentation,
    /// Measurements between devices (RFC 2544, RFC 5180).
    Benchmarking,
    /// Not handed out, or to protocols only.
    Reserved,
}

impl Special {
    /// The word that messages show.
    pub fn name(self) -> &'static str {
        match self {
            Special::Unspecified => "unspecified",
            Special::Loopback => "loopback",
            Special::Private => "private",
            Special::Shared => "carrier-shared",
            Special::LinkLocal => "link-local",
            Special::Metadata => "metadata",
            Special::Multicast => "multicast",
            Special::Documentation => "documentation",
            Special::Benchmarking => "benchmarking",
            Special::Reserved => "reserved",
        }
    }
}

/// What is special about `address`; `None` where it belongs to the public internet.
/// An IPv6 address that stands for an IPv4 address is judged by the latter.
pub fn special(address: IpAddr) -> Option<Special> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

/// Prefix, its length in bits, what it is. The first match counts.
const V4: &[([u8; 4], u32, Special)] = &[
    ([0, 0, 0, 0], 8, Special::Unspecified),
    ([10, 0, 0, 0], 8, Special::Private),
    ([100, 64, 0, 0], 10, Special::Shared),
    ([127, 0, 0, 0], 8, Special::Loopback),
    // Azure's host agent answers here, in the middle of public space
    ([168, 63, 129, 16], 32, Special::Metadata),
    ([169, 254, 0, 0], 16, Special::LinkLocal),
    ([172, 16, 0, 0], 12, Special::Private),
    ([192, 0, 0, 0], 24, Special::Reserved),
    ([192, 0, 2, 0], 24, Special::Documentation),
    ([192, 88, 99, 0], 24, Special::Reserved),
    ([192, 168, 0, 0], 16, Special::Private),
    ([198, 18, 0, 0], 15, Special::Benchmarking),
    ([198, 51, 100, 0], 24, Special::Documentation),
    ([203, 0, 113, 0], 24, Special::Documentation),
    ([224, 0, 0, 0], 4, Special::Multicast),
    ([240, 0, 0, 0], 4, Special::Reserved),
];

fn special_v4(address: Ipv4Addr) -> Option<Special> {
    let bits = u32::from(address);
    V4.iter()
        .find(|(prefix, length, _)| (bits ^ u32::from_be_bytes(*prefix)) >> (32 - length) == 0)
        .map(|row| row.2)
}

/// Prefix (first four groups), its length in bits, what it is. The first match counts.
const V6: &[([u16; 4], u32, Special)] = &[
    ([0xfc00, 0, 0, 0], 7, Special::Private),
    ([0xfe80, 0, 0, 0], 10, Special::LinkLocal),
    ([0xfec0, 0, 0, 0], 10, Special::Private),
    ([0xff00, 0, 0, 0], 8, Special::Multicast),
    ([0x2001, 0x0002, 0, 0], 48, Special::Benchmarking),
    ([0x2001, 0x0db8, 0, 0], 32, Special::Documentation),
    ([0x3fff, 0, 0, 0], 20, Special::Documentation),
    ([0x2001, 0, 0, 0], 23, Special::Reserved),
];

fn special_v6(address: Ipv6Addr) -> Option<Special> {
    if address.is_unspecified() {
        return Some(Special::Unspecified);
    }
    if address.is_loopback() {
        return Some(Special::Loopback);
    }
    if let Some(embedded) = embedded_v4(address) {
        return embedded.into_iter().flatten().find_map(special_v4);
    }
    let [a, b, c, d, ..] = address.segments();
    let bits = leading_bits([a, b, c, d]);
    let listed = V6.iter().find(|(prefix, length, _)| (bits ^ leading_bits(*prefix)) >> (64 - length) == 0);
    // RFC 4291 section 2.4, RFC 3587: nothing outside 2000::/3 is handed out for global unicast
    listed.map(|row| row.2).or((bits >> 61 != 1).then_some(Special::Reserved))
}

fn leading_bits(groups: [u16; 4]) -> u64 {
    groups.iter().fold(0, |bits, group| bits << 16 | u64::from(*group))
}

/// The IPv4 addresses that an IPv6 address stands for.
fn embedded_v4(address: Ipv6Addr) -> Option<[Option<Ipv4Addr>; 2]> {
    let octets = address.octets();
    let at = |i: usize| Ipv4Addr::new(octets[i], octets[i + 1], octets[i + 2], octets[i + 3]);
    match address.segments() {
        // compatible (RFC 4291 2.5.5.1), mapped (2.5.5.2), translated (RFC 2765), NAT64 (RFC 6052)
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _]
        | [0, 0, 0, 0, 0xffff, 0, _, _]
        | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some([Some(at(12)), None]),
        // 6to4 (RFC 3056)
        [0x2002, ..] => Some([Some(at(2)), None]),
        // Teredo (RFC 4380): the server, and the client with its bits inverted
        [0x2001, 0, ..] => {
            let client = Ipv4Addr::from(!u32::from(at(12)));
            Some([Some(at(4)), Some(client)])
        }
        _ => None,
    }
}

/// Decides, for a host and port, whether an address may be connected to.
#[derive(Debug, Default)]
pub(super) struct AddressGuard {
    allow_private: bool,
    typed: HashSet<(Box<str>, u16)>,
}

impl AddressGuard {
    /// A guard that lets special addresses pass everywhere (`allow_private`), or
    /// for the very hosts and ports that the user typed only.
    pub(super) fn new(allow_private: bool, seeds: &[SeedHost]) -> AddressGuard {
        let needed = if allow_private { &[] } else { seeds };
        let typed = needed.iter().map(|seed| (host_name(&seed.host).into(), seed.port)).collect();
        AddressGuard { allow_private, typed }
    }

    /// `Err` says what is special about `address`, where that keeps the request for
    /// `host` (as in the URL) and `port` (where known) from being made.
    pub(super) fn check(&self, address: IpAddr, host: &str, port: Option<u16>) -> Result<(), Special> {
        match special(address) {
            Some(special) if !self.allow_private && !self.was_typed(host, port) => Err(special),
            _ => Ok(()),
        }
    }

    fn was_typed(&self, host: &str, port: Option<u16>) -> bool {
        port.is_some_and(|port| {
            !self.typed.is_empty() && self.typed.contains(&(host_name(host).into(), port))
        })
    }
}

/// One spelling per host: lower case, no last dot, an IPv6 address in brackets as URLs have it.
pub(super) fn host_name(host: &str) -> String {
    let host = host.strip_suffix('.').unwrap_or(host);
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        return format!("[{address}]");
    }
    match ::url::Host::parse(host) {
        Ok(parsed) => parsed.to_string(),
        Err(_) => host.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(address: &str) -> Option<Special> {
        special(address.parse().expect("a test address"))
    }

    #[test]
    fn public_addresses_pass() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00::1",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert_eq!(of(address), None, "{address}");
        }
    }

    #[test]
    fn special_addresses_are_named() {
        for (address, expected) in [
            ("0.0.0.0", Special::Unspecified),
            ("0.1.2.3", Special::Unspecified),
            ("10.1.2.3", Special::Private),
            ("100.100.100.200", Special::Shared),
            ("127.0.0.1", Special::Loopback),
            ("127.255.255.254", Special::Loopback),
            ("168.63.129.16", Special::Metadata),
            ("169.254.169.254", Special::LinkLocal),
            ("172.31.255.255", Special::Private),
            ("192.0.0.192", Special::Reserved),
            ("192.168.0.1", Special::Private),
            ("198.19.0.1", Special::Benchmarking),
            ("203.0.113.9", Special::Documentation),
            ("224.0.0.1", Special::Multicast),
            ("255.255.255.255", Special::Reserved),
            ("::", Special::Unspecified),
            ("::1", Special::Loopback),
            ("fd00:ec2::254", Special::Private),
            ("fe80::1", Special::LinkLocal),
            ("fec0::1", Special::Private),
            ("ff02::1", Special::Multicast),
            ("2001:2::1", Special::Benchmarking),
            ("2001:db8::1", Special::Documentation),
            ("3fff::1", Special::Documentation),
            ("2001:10::1", Special::Reserved),
            ("100::1", Special::Reserved),
            ("64:ff9b:1::1", Special::Reserved),
            ("5f00::1", Special::Reserved),
            ("4000::1", Special::Reserved),
        ] {
            assert_eq!(of(address), Some(expected), "{address}");
        }
    }

    proptest! {
        #[test]
        fn an_embedded_address_is_judged_like_the_plain_one(bits in any::<u32>(), high in any::<u64>()) {
            let plain = Ipv4Addr::from(bits);
            let expected = special_v4(plain);
            let [a, b, c, d] = plain.octets();
            let (left, right) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            for wrapped in [
                plain.to_ipv6_mapped(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, left, right),
                Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, left, right),
                Ipv6Addr::new(0x2002, left, right, high as u16, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0, 0x0808, 0x0808, 0, 0, !left, !right),
                Ipv6Addr::new(0x2001, 0, left, right, 0, 0, !0x0808, !0x0808),
            ] {
                prop_assert_eq!(special_v6(wrapped), expected, "{}", wrapped);
            }
            prop_assert_eq!(special_v6(Ipv6Addr::new(0, 0, 0, 0, 0, 0, left, right)).is_some(), expected.is_some());
        }

        #[test]
        fn the_table_agrees_with_the_standard_library(bits in any::<u32>()) {
            let address = Ipv4Addr::from(bits);
            if address.is_private() || address.is_loopback() || address.is_link_local() || address.is_multicast()
                || address.is_broadcast() || address.is_documentation() || address.is_unspecified() {
                prop_assert!(special_v4(address).is_some());
            }
        }

        #[test]
        fn nothing_outside_the_handed_out_space_passes(bits in any::<u128>()) {
            let address = Ipv6Addr::from(bits);
            if special_v6(address).is_none() && embedded_v4(address).is_none() {
                prop_assert_eq!(address.segments()[0] >> 13, 1);
            }
        }
    }

    #[test]
    fn a_typed_host_is_allowed_on_its_port_alone() {
        let seeds = [
            SeedHost { host: "Intranet.Example.".to_owned(), port: 8080 },
            SeedHost { host: "::1".to_owned(), port: 80 },
            SeedHost { host: "127.1".to_owned(), port: 81 },
            SeedHost { host: "169.254.169.254".to_owned(), port: 80 },
        ];
        let guard = AddressGuard::new(false, &seeds);
        let private: IpAddr = [10, 0, 0, 1].into();
        assert!(guard.check(private, "intranet.example", Some(8080)).is_ok());
        assert!(guard.check(private, "intranet.example.", Some(8080)).is_ok());
        assert!(guard.check(private, "intranet.example", Some(80)).is_err());
        assert!(guard.check(private, "intranet.example", None).is_err());
        assert!(guard.check(private, "other.example", Some(8080)).is_err());
        assert!(guard.check(Ipv6Addr::LOCALHOST.into(), "[::1]", Some(80)).is_ok());
        assert!(guard.check(Ipv4Addr::LOCALHOST.into(), "127.0.0.1", Some(81)).is_ok());
        let metadata: IpAddr = [169, 254, 169, 254].into();
        assert!(guard.check(metadata, "169.254.169.254", Some(80)).is_ok(), "whoever types it means it");
        assert!(guard.check(metadata, "other.example", Some(80)).is_err());
        assert!(guard.check([8, 8, 8, 8].into(), "other.example", None).is_ok());
        assert!(AddressGuard::new(true, &[]).check(private, "other.example", None).is_ok());
    }
}

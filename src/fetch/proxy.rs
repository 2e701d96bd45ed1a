//! Which requests go through a proxy, and what must be said about it.

use ::url::Url;
use hyper::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use super::FetchSetupError;
use crate::config;

/// Where proxies are looked for when none was given.
const VARIABLES: [&str; 6] =
    ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

const NOTE: &str =
    "behind a proxy the address guard can check literal addresses only: names are resolved by the proxy";

enum Route {
    Direct,
    /// `--proxy`; whether it resolves the names.
    All(Box<Matcher>, bool),
    /// As the environment (and `NO_PROXY`) says.
    Environment(Box<Matcher>),
}

/// The proxies of a crawl.
pub(super) struct Proxies {
    route: Route,
    secrets: Vec<String>,
}

impl Proxies {
    /// The proxy that was given, else what the environment says where `environment` is set.
    pub(super) fn new(given: Option<&str>, environment: bool) -> Result<Proxies, FetchSetupError> {
        if let Some(given) = given {
            return Proxies::given(given);
        }
        if !environment {
            return Ok(Proxies { route: Route::Direct, secrets: Vec::new() });
        }
        let matcher = Matcher::from_system();
        let used = ["http://site.example/", "https://site.example/"]
            .iter()
            .any(|sample| matcher.intercept(&Uri::from_static(sample)).is_some());
        let values = VARIABLES.iter().filter_map(|name| std::env::var(name).ok());
        let secrets =
            values.filter_map(|value| Url::parse(&value).ok()).flat_map(|url| passwords(&url)).collect();
        let route = if used { Route::Environment(Box::new(matcher)) } else { Route::Direct };
        Ok(Proxies { route, secrets })
    }

    fn given(given: &str) -> Result<Proxies, FetchSetupError> {
        let url = config::proxy(given)?;
        // With `socks5` it is we who look the names up.
        let remote_names = !matches!(url.scheme(), "socks5" | "socks4");
        let with_scheme = if given.contains("://") { given.to_owned() } else { format!("http://{given}") };
        let proxy = Matcher::builder().all(with_scheme).build();
        if proxy.intercept(&Uri::from_static("http://site.example/")).is_none() {
            return Err(FetchSetupError::Client("the proxy cannot be used".to_owned()));
        }
        Ok(Proxies { route: Route::All(Box::new(proxy), remote_names), secrets: passwords(&url) })
    }

    /// The proxy for a request.
    pub(super) fn intercept(&self, uri: &Uri) -> Option<Intercept> {
        match &self.route {
            Route::Direct => None,
            Route::All(matcher, _) | Route::Environment(matcher) => matcher.intercept(uri),
        }
    }

    /// Whether any request may go through a proxy.
    pub(super) fn any(&self) -> bool {
        !matches!(self.route, Route::Direct)
    }

    /// Whether a request for `url` goes through a proxy.
    pub(super) fn takes(&self, url: &Url) -> bool {
        match &self.route {
            Route::Direct => false,
            Route::All(..) => true,
            Route::Environment(matcher) => {
                url.as_str().parse::<Uri>().is_ok_and(|uri| matcher.intercept(&uri).is_some())
            }
        }
    }

    /// What the address guard cannot do because of a proxy.
    pub(super) fn guard_note(&self) -> Option<&'static str> {
        match &self.route {
            Route::Direct | Route::All(_, false) => None,
            Route::All(_, true) | Route::Environment(_) => Some(NOTE),
        }
    }

    /// Blots out passwords, should an error message show one.
    pub(super) fn redact(&self, text: &mut String) {
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), "***");
            }
        }
    }
}

fn passwords(url: &Url) -> Vec<String> {
    let Some(coded) = url.password().filter(|password| !password.is_empty()) else {
        return Vec::new();
    };
    // as written, and as sent
    let pair = format!("{}={}", "p", coded.replace('+', "%2B"));
    let decoded = ::url::form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned());
    std::iter::once(coded.to_owned()).chain(decoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_proxy_is_refused_and_passwords_kept_out_of_messages() {
        for wrong in ["ftp://me:s3cret@h:1", "http://me:s3cret@", "p:1"] {
            let error = Proxies::new(Some(wrong), false).err().expect(wrong);
            assert!(!error.to_string().contains("s3cret"));
        }
        let proxies = Proxies::new(Some("http://me:s%2Bcret@proxy.test:3128"), false).expect("a proxy");
        let mut text = "refused s%2Bcret and s+cret".to_owned();
        proxies.redact(&mut text);
        assert_eq!(text, "refused *** and ***");
    }

    #[test]
    fn the_note_is_for_proxies_that_resolve_names() {
        for (given, noted) in
            [("http://p:1", true), ("https://p:1", true), ("socks5h://p:1", true), ("socks5://p:1", false)]
        {
            let proxies = Proxies::new(Some(given), false).expect(given);
            assert_eq!(proxies.guard_note().is_some(), noted, "{given}");
            assert!(proxies.any() && proxies.takes(&Url::parse("http://a.test/").expect("a URL")));
        }
        assert!(Proxies::new(None, false).expect("none").guard_note().is_none());
    }
}

//! What a row of the table is: a name, a script, and what must come of it.

use super::server::{Asked, Then, Wire};
use serde_json::Value;
use std::io;
use std::sync::Arc;

/// Writes one answer.
pub(super) type Script = Arc<dyn Fn(&mut Wire<'_>, &Asked) -> io::Result<Then> + Send + Sync>;

/// Requests for what fails and may go better, as the crawl is told.
pub(super) const ATTEMPTS: usize = 2;

/// Where the server is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site {
    pub(super) port: u16,
}

/// The pages of the sane web that show that a crawl went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Witness {
    /// Linked from the index, after the row.
    After,
    /// Linked from what the row answers.
    Within,
    /// Where the row redirects to.
    Target,
}

impl Witness {
    const ALL: [Witness; 3] = [Witness::After, Witness::Within, Witness::Target];

    fn directory(self) -> &'static str {
        match self {
            Witness::After => "/after/",
            Witness::Within => "/within/",
            Witness::Target => "/target/",
        }
    }

    /// Which one a path is.
    pub(super) fn of(path: &str) -> Option<Witness> {
        Witness::ALL.into_iter().find(|witness| path.starts_with(witness.directory()))
    }
}

/// The host of an address that somebody typed, for the crawl without `--allow-private`.
const TYPED: &str = "127.0.0.1";

impl Site {
    /// The URL of a page.
    pub(super) fn url(self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }

    /// The URL of a witness of a row.
    pub(super) fn witness(self, row: &str, witness: Witness) -> String {
        self.url("good.test", &format!("{}{row}", witness.directory()))
    }

    /// A page that links to its row's witness.
    pub(super) fn page(self, row: &str) -> Vec<u8> {
        page::of(&[self.witness(row, Witness::Within)])
    }

    /// The index that a crawl begins with, of the rows with or without `--allow-private`.
    pub(super) fn seed(self, guarded: bool) -> String {
        self.url(if guarded { TYPED } else { "index.test" }, "/")
    }

    /// Whether a page is an index, and which one.
    pub(super) fn is_index(host: &str, path: &str) -> Option<bool> {
        (path == "/" && (host == TYPED || host == "index.test")).then_some(host == TYPED)
    }

    /// Links to each row, and after each to its witness.
    pub(super) fn index(self, rows: &[Row], guarded: bool) -> Vec<u8> {
        let rows = rows.iter().filter(|row| row.guarded == guarded);
        let links: Vec<String> = rows.flat_map(|row| [row.url(self), row.after(self)]).collect();
        page::of(&links)
    }
}

/// One misbehaviour, and what must come of it.
pub(super) struct Row {
    /// Also the name of its host, below `test`.
    pub(super) name: &'static str,
    /// What its pages answer.
    pub(super) script: Script,
    /// What its robots.txt answers, where there is one.
    pub(super) robots: Option<Script>,
    /// How often robots.txt is asked for, by path.
    pub(super) robots_asked: Vec<(String, usize)>,
    /// What becomes of its first page.
    pub(super) outcome: Outcome,
    /// Requests for that.
    pub(super) attempts: usize,
    /// The witness that is reached by it, beside the one after it.
    pub(super) leads: Option<Witness>,
    /// Further pages below its host that must be asked, each once, and their status.
    pub(super) further: Vec<(String, Outcome)>,
    /// URLs that must not be asked, and why.
    pub(super) skipped: Vec<(String, &'static str)>,
    /// Some of its pages may be asked over a connection that is closed before the request arrives.
    pub(super) races: bool,
    /// Nothing is asked over a connection that answered its first page.
    pub(super) alone: bool,
    /// Crawled without `--allow-private`, below an address that was typed.
    pub(super) guarded: bool,
}

/// What becomes of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A record with these fields.
    Record { status: Option<u16>, error: Option<String>, truncated: Option<String> },
    /// It is not asked, for this reason.
    Skip(&'static str),
}

impl Outcome {
    /// A record with a status and nothing wrong.
    pub(super) fn status(status: u16) -> Outcome {
        Outcome::Record { status: Some(status), error: None, truncated: None }
    }

    /// What a row of `pages.jsonl` says.
    pub(super) fn of(record: &Value) -> Outcome {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Outcome::Record {
            status: record["status"].as_u64().map(|status| status as u16),
            error: text(&record["error"]["kind"]),
            truncated: text(&record["truncated"]),
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Outcome::Skip(reason) => write!(f, "skip: {reason}"),
            Outcome::Record { status, error, truncated } => {
                let status = status.map_or_else(|| "-".to_owned(), |status| status.to_string());
                write!(f, "{status} {}", error.as_deref().unwrap_or("ok"))?;
                truncated.as_ref().map_or(Ok(()), |truncated| write!(f, ", cut: {truncated}"))
            }
        }
    }
}

/// A row that answers 200 and no more, by a script.
pub(super) fn row(
    name: &'static str,
    script: impl Fn(&mut Wire<'_>, &Asked) -> io::Result<Then> + Send + Sync + 'static,
) -> Row {
    Row {
        name,
        script: Arc::new(script),
        robots: None,
        robots_asked: vec![("/robots.txt".to_owned(), 1)],
        outcome: Outcome::status(200),
        attempts: 1,
        leads: None,
        further: Vec::new(),
        skipped: Vec::new(),
        races: false,
        alone: false,
        guarded: false,
    }
}

/// A row whose every page is these bytes, after which the connection is closed.
pub(super) fn sends(name: &'static str, bytes: impl Into<Vec<u8>>) -> Row {
    let bytes = bytes.into();
    row(name, move |wire, _| wire.send(&bytes).map(|()| Then::Close))
}

/// A row that answers as it should, with this status, further headers, and a body.
pub(super) fn answers(name: &'static str, status: &'static str, headers: &str, body: &[u8]) -> Row {
    let (headers, body) = (headers.to_owned(), body.to_owned());
    row(name, move |wire, _| wire.whole(status, &headers, &body))
}

impl Row {
    /// Its first page has this status.
    pub(super) fn status(mut self, number: u16) -> Row {
        if let Outcome::Record { status, .. } = &mut self.outcome {
            *status = Some(number);
        }
        self
    }

    /// It has this error beside a status.
    pub(super) fn error(mut self, kind: &str) -> Row {
        if let Outcome::Record { error, .. } = &mut self.outcome {
            *error = Some(kind.to_owned());
        }
        self
    }

    /// It is no answer at all, but an error.
    pub(super) fn unanswered(mut self, kind: &str) -> Row {
        self.outcome = Outcome::Record { status: None, error: Some(kind.to_owned()), truncated: None };
        self
    }

    /// Its body is cut in this way.
    pub(super) fn cut(mut self, how: &str) -> Row {
        if let Outcome::Record { truncated, .. } = &mut self.outcome {
            *truncated = Some(how.to_owned());
        }
        self
    }

    /// It is not asked.
    pub(super) fn skip(mut self, reason: &'static str) -> Row {
        self.outcome = Outcome::Skip(reason);
        self.attempts = 0;
        self
    }

    /// It is asked so often.
    pub(super) fn attempts(mut self, attempts: usize) -> Row {
        self.attempts = attempts;
        self
    }

    /// The links in it are followed.
    pub(super) fn within(mut self) -> Row {
        self.leads = Some(Witness::Within);
        self
    }

    /// What it redirects to is fetched.
    pub(super) fn target(mut self) -> Row {
        self.leads = Some(Witness::Target);
        self
    }

    /// A further URL is fetched, and has this status.
    pub(super) fn further(mut self, url: String, status: u16) -> Row {
        self.further.push((url, Outcome::status(status)));
        self
    }

    /// Its last further URL has an error beside its status.
    pub(super) fn further_error(mut self, kind: &str) -> Row {
        if let Some((_, Outcome::Record { error, .. })) = self.further.last_mut() {
            *error = Some(kind.to_owned());
        }
        self
    }

    /// A further URL is met and not fetched.
    pub(super) fn skipping(mut self, url: String, reason: &'static str) -> Row {
        self.skipped.push((url, reason));
        self
    }

    /// What robots.txt answers, and how often it is asked for.
    pub(super) fn robots(
        mut self,
        times: usize,
        script: impl Fn(&mut Wire<'_>, &Asked) -> io::Result<Then> + Send + Sync + 'static,
    ) -> Row {
        self.robots = Some(Arc::new(script));
        self.robots_asked = vec![("/robots.txt".to_owned(), times)];
        self
    }

    /// A further path that is asked for a robots.txt.
    pub(super) fn robots_moves_to(mut self, path: String) -> Row {
        self.robots_asked.push((path, 1));
        self
    }

    /// Its connections are closed while they may be in use.
    pub(super) fn races(mut self) -> Row {
        self.races = true;
        self
    }

    /// A connection that answered it is not used again.
    pub(super) fn alone(mut self) -> Row {
        self.alone = true;
        self
    }

    /// It is crawled without `--allow-private`.
    pub(super) fn guarded(mut self) -> Row {
        self.guarded = true;
        self
    }

    /// Its host.
    pub(super) fn host(&self) -> String {
        if self.guarded { TYPED.to_owned() } else { format!("{}.test", self.name) }
    }

    /// The path of its first page.
    pub(super) fn path(&self) -> String {
        if self.guarded { format!("/{}", self.name) } else { "/".to_owned() }
    }

    /// Its first page.
    pub(super) fn url(&self, site: Site) -> String {
        site.url(&self.host(), &self.path())
    }

    /// The witness after it. Where nothing but the typed address may be asked, it stands there, too.
    pub(super) fn after(&self, site: Site) -> String {
        let url = site.witness(self.name, Witness::After);
        if self.guarded { url.replacen("good.test", TYPED, 1) } else { url }
    }

    /// Whether it speaks for a page; a host below its own is its own.
    pub(super) fn is_for(&self, host: &str, path: &str) -> bool {
        let own = self.host();
        if self.guarded {
            return host == own && path == self.path();
        }
        host.strip_suffix(&own).is_some_and(|below| below.is_empty() || below.ends_with('.'))
    }
}

/// Pages and heads as they should be.
pub(super) mod page {
    /// The header of a page.
    pub(in super::super) const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n";

    /// A page of these links.
    pub(in super::super) fn of<Link: AsRef<str>>(links: &[Link]) -> Vec<u8> {
        let links = links.iter().map(|link| format!("<a href=\"{}\">x</a>\n", link.as_ref()));
        format!("<!doctype html><title>page</title>\n{}", links.collect::<String>()).into_bytes()
    }

    /// The head of a page with further headers, and what follows it.
    pub(in super::super) fn raw(headers: &str, body: &[u8]) -> Vec<u8> {
        [format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{headers}\r\n").as_bytes(), body].concat()
    }

    /// An answer with its true `Content-Length`.
    pub(in super::super) fn whole(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    }
}

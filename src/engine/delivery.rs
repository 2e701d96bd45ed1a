//! How an outcome reaches the owner, whatever happened to the work behind it.

use tokio::sync::mpsc;

use super::job::{Outcome, PageOutcome, Verdict};
use crate::budget::Lease;
use crate::model::{ErrorKind, PageError};
use crate::sink::encode_line;

/// What a job that panicked is said to have died of.
pub(super) const BROKEN: &str = "the crawler itself failed here; please report it";

/// An outcome on its way to the owner, with the lease of the memory it holds.
#[derive(Debug)]
pub(crate) struct Delivered {
    pub(crate) outcome: Outcome,
    /// To be dropped when the outcome is.
    pub(crate) lease: Option<Lease>,
}

/// Delivers its outcome when it goes, however it goes: until the work is done, that it failed.
pub(super) struct Delivery {
    pub(super) outcome: Option<Outcome>,
    pub(super) lease: Option<Lease>,
    sender: mpsc::Sender<Delivered>,
}

impl Delivery {
    pub(super) fn new(outcome: Outcome, sender: mpsc::Sender<Delivered>) -> Self {
        Self { outcome: Some(outcome), lease: None, sender }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let Some(mut outcome) = self.outcome.take() else {
            return;
        };
        if let Outcome::Page(page) = &mut outcome {
            if std::thread::panicking() {
                page.verdict = Verdict::Final;
                page.record.error = Some(PageError { kind: ErrorKind::Other, detail: BROKEN.to_owned() });
            }
            write_line(page);
        }
        // The channel holds as many as may be in flight; it is closed only when nobody wants outcomes any more.
        let _ = self.sender.try_send(Delivered { outcome, lease: self.lease.take() });
    }
}

/// Encodes the record; one that cannot be encoded is an error of its page, never a line that is none.
fn write_line(page: &mut PageOutcome) {
    page.line.clear();
    if let Err(error) = encode_line(&page.record, &mut page.line) {
        let detail = format!("its record cannot be written: {error}; please report it");
        write_least(page, PageError { kind: ErrorKind::Other, detail });
    }
}

/// The least that a line must say: the page and what went wrong.
pub(super) fn write_least(page: &mut PageOutcome, error: PageError) {
    let least = serde_json::json!({
        "url": page.record.url,
        "error": { "kind": error.kind.name(), "detail": error.detail },
    });
    page.record.error = Some(error);
    page.line.clear();
    page.line.extend_from_slice(least.to_string().as_bytes());
    page.line.push(b'\n');
}

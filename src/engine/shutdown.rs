//! Being asked to stop: by a signal, or by the program that uses the library.

use tokio::sync::watch;

/// How urgently the crawl was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Urgency {
    /// Not at all.
    #[default]
    None,
    /// Finish what is in flight, then save.
    Finish,
    /// Save now; what is in flight is asked again another time.
    SaveNow,
}

/// Asks a running crawl to stop; clones speak to the same crawl.
#[derive(Debug, Clone)]
pub struct StopHandle(watch::Sender<Urgency>);

impl StopHandle {
    pub(crate) fn new() -> (Self, watch::Receiver<Urgency>) {
        let (sender, receiver) = watch::channel(Urgency::None);
        (Self(sender), receiver)
    }

    /// Asks for at least this urgency.
    pub fn request(&self, urgency: Urgency) {
        self.0.send_if_modified(|current| {
            let more = urgency > *current;
            *current = (*current).max(urgency);
            more
        });
    }
}

/// Turns interrupts into requests: the first finishes what is in flight, the second
/// saves now, the third leaves at once with the exit code of an interrupt.
pub(crate) async fn listen(stop: StopHandle) {
    // made once: what arrives between two looks is kept
    let Ok(mut signals) = Signals::new() else { return };
    let mut count = 0;
    while signals.next().await {
        count += 1;
        match count {
            1 => stop.request(Urgency::Finish),
            2 => stop.request(Urgency::SaveNow),
            _ => std::process::exit(INTERRUPTED),
        }
    }
}

/// 128 + SIGINT, as shells report it.
const INTERRUPTED: i32 = 130;

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> bool {
        tokio::select! {
            interrupted = self.interrupt.recv() => interrupted.is_some(),
            terminated = self.terminate.recv() => terminated.is_some(),
            hung_up = self.hang_up.recv() => hung_up.is_some(),
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> bool {
        tokio::signal::ctrl_c().await.is_ok()
    }
}

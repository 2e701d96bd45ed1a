//! Being asked to stop: by a signal, or by the program that uses the library.
//!
//! Signals are listened to from before the seeds are read to the end, by a thread of its own: what a crawl
//! is busy with does not matter to them.

use tokio::sync::watch;

use super::crawl::SetupError;

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

/// The listening thread needs little: what it calls is shallow.
const LISTENER_STACK: usize = 128 << 10;

impl Default for StopHandle {
    fn default() -> Self {
        Self(watch::Sender::new(Urgency::None))
    }
}

impl StopHandle {
    /// One through which interrupts (and requests to terminate, and hang-ups) of this process speak, from
    /// now on: the first asks to finish, the second to save at once, the third leaves with exit code 130.
    /// Give it to [`CrawlBuilder::stop_handle`](super::CrawlBuilder::stop_handle).
    ///
    /// # Errors
    /// Where the system has no thread to spare, or lets nobody listen.
    pub fn on_signals() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let guard = runtime.enter();
        // made here, so that from the return on no signal is missed
        let signals = Signals::new()?;
        drop(guard);
        let handle = Self::default();
        let stop = handle.clone();
        let listener = std::thread::Builder::new().name("signals".into()).stack_size(LISTENER_STACK);
        listener.spawn(move || runtime.block_on(listen(signals, stop)))?;
        Ok(handle)
    }

    /// Whoever is told of each request that is new from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Urgency> {
        self.0.subscribe()
    }

    /// Whether anybody asked to stop.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() != Urgency::None
    }

    /// Fails where anybody asked to stop: for what goes on before the crawl has begun.
    pub(crate) fn check(&self) -> Result<(), SetupError> {
        if self.is_requested() { Err(SetupError::Stopped) } else { Ok(()) }
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
async fn listen(mut signals: Signals, stop: StopHandle) {
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

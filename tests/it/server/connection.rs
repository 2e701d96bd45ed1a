//! One connection: requests in, scripted answers out.

use super::answer::{Answer, Body};
use super::{Request, Shared, now, requests_answered};
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long a read waits before the end of the server is looked for again.
const TICK: Duration = Duration::from_millis(50);
/// Bytes of a request's head at most.
const HEAD: usize = 64 << 10;

/// Serves requests until either side has had enough.
pub(super) fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TICK))?;
    stream.set_write_timeout(Some(Duration::from_secs(30)))?;
    let mut pending = Vec::new();
    while let Some(head) = read_head(&mut stream, &mut pending, shared)? {
        let Some(request) = parse(&head) else {
            return Ok(());
        };
        let Some((index, earlier)) = note(&request, shared) else {
            return Ok(());
        };
        let answer = shared.script.answer(&request, earlier);
        pause(answer.pause, shared);
        let finished = || {
            if let Some(entry) = shared.log.lock().unwrap().requests.get_mut(index) {
                entry.finished = Some(now());
            }
        };
        if !send(&mut stream, &answer, shared, &finished)? {
            return finish(stream, &answer);
        }
    }
    Ok(())
}

/// Writes a request into the log; returns its place and how many of its host and path came before.
fn note(request: &Request, shared: &Shared) -> Option<(usize, usize)> {
    let mut log = shared.log.lock().unwrap();
    if log.requests.len() >= requests_answered() {
        return None;
    }
    let times = log.asked.entry((request.host.clone(), request.path.clone())).or_default();
    *times += 1;
    let earlier = *times - 1;
    log.requests.push(request.clone());
    Some((log.requests.len() - 1, earlier))
}

/// The head of the next request, or nothing where the peer left or the server is over.
fn read_head(stream: &mut TcpStream, pending: &mut Vec<u8>, shared: &Shared) -> io::Result<Option<Vec<u8>>> {
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = pending.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = pending.split_off(end + 4);
            return Ok(Some(std::mem::replace(pending, rest)));
        }
        if shared.over() || pending.len() > HEAD {
            return Ok(None);
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(read) => pending.extend_from_slice(&buffer[..read]),
            Err(error) if is_tick(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn is_tick(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

pub(crate) fn parse(head: &[u8]) -> Option<Request> {
    let at = now();
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request = Request { at, finished: None, path, host: String::new(), headers };
    let host = request.header("host").unwrap_or_default();
    request.host = host.rsplit_once(':').map_or(host, |(name, _)| name).to_owned();
    Some(request)
}

fn pause(total: Duration, shared: &Shared) {
    let end = now() + total;
    while now() < end && !shared.over() {
        std::thread::sleep(TICK.min(end.saturating_sub(now())));
    }
}

/// Sends an answer; false where the connection must not go on.
fn send(stream: &mut TcpStream, answer: &Answer, shared: &Shared, finished: &dyn Fn()) -> io::Result<bool> {
    match &answer.body {
        Body::Whole => {
            let mut message = head(answer, &framing(answer, answer.content.len()));
            message.extend_from_slice(&answer.content);
            finished();
            stream.write_all(&message)?;
            Ok(true)
        }
        Body::ByteByByte => {
            let message = chunks(answer, 1).concat();
            finished();
            stream.write_all(&message)?;
            Ok(true)
        }
        Body::Drip(size, gap) => {
            let parts = chunks(answer, *size);
            for (index, part) in parts.iter().enumerate() {
                if index + 1 == parts.len() {
                    finished();
                }
                stream.write_all(part)?;
                pause(*gap, shared);
            }
            Ok(true)
        }
        Body::Short | Body::Reset => {
            let mut message = head(answer, &framing(answer, answer.content.len() + 1000));
            message.extend_from_slice(&answer.content);
            finished();
            stream.write_all(&message)?;
            Ok(false)
        }
        Body::Gibibyte => filled(stream, answer, 1 << 30, shared, finished).map(|()| false),
        Body::Filled(total) => filled(stream, answer, *total, shared, finished).map(|()| true),
        Body::Raw => {
            finished();
            stream.write_all(&answer.content)?;
            Ok(false)
        }
        Body::Never => {
            finished();
            wait_for_peer(stream, shared);
            Ok(false)
        }
        Body::Close => {
            finished();
            Ok(false)
        }
    }
}

/// Closes, or resets where the script says so.
fn finish(stream: TcpStream, answer: &Answer) -> io::Result<()> {
    if matches!(answer.body, Body::Reset) {
        // time for what was sent to arrive: a reset throws away what is still on its way
        std::thread::sleep(Duration::from_millis(100));
        // a linger of zero makes the close a reset
        tokio::net::TcpSocket::from_std_stream(stream).set_zero_linger()?;
    }
    Ok(())
}

fn framing(answer: &Answer, length: usize) -> String {
    let bodiless = answer.status == 304 || answer.status == 204;
    if bodiless { String::new() } else { format!("Content-Length: {length}\r\n") }
}

fn head(answer: &Answer, framing: &str) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n{framing}", answer.status);
    for (name, value) in &answer.headers {
        let _infallible = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// The head, the chunks and the last chunk, each as it is written.
fn chunks(answer: &Answer, size: usize) -> Vec<Vec<u8>> {
    let mut parts = vec![head(answer, "Transfer-Encoding: chunked\r\n")];
    for chunk in answer.content.chunks(size) {
        let mut part = format!("{:x}\r\n", chunk.len()).into_bytes();
        part.extend_from_slice(chunk);
        part.extend_from_slice(b"\r\n");
        parts.push(part);
    }
    parts.push(b"0\r\n\r\n".to_vec());
    parts
}

/// The content, then lines of filler up to `total` declared bytes.
fn filled(
    stream: &mut TcpStream,
    answer: &Answer,
    total: usize,
    shared: &Shared,
    finished: &dyn Fn(),
) -> io::Result<()> {
    finished();
    stream.write_all(&head(answer, &framing(answer, total)))?;
    stream.write_all(&answer.content)?;
    let line: Vec<u8> = b"# filler\n".iter().copied().cycle().take(9 * 7000).collect();
    let mut left = total - answer.content.len();
    while left > 0 && !shared.over() {
        let part = left.min(line.len());
        stream.write_all(&line[..part])?;
        left -= part;
    }
    Ok(())
}

fn wait_for_peer(stream: &mut TcpStream, shared: &Shared) {
    let mut buffer = [0; 64];
    while !shared.over() {
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if is_tick(&error) => {}
            Err(_) => return,
        }
    }
}

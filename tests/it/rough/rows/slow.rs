//! Servers that are slow, silent, or gone.

use crate::rough::row::page::raw;
use crate::rough::row::{ATTEMPTS, Row, Site, page, row};
use crate::rough::server::{Then, settle};

const OPEN: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

pub(super) fn rows(site: Site) -> Vec<Row> {
    slow(site).into_iter().chain(gone(site)).collect()
}

fn slow(site: Site) -> Vec<Row> {
    let dripping = raw("", &site.page("drip-body"));
    let stalling = raw("Content-Length: 5000\r\n", &site.page("stall-in-body"));
    vec![
        row("drip-headers", |wire, _| {
            wire.send(OPEN)?;
            wire.drip(b"X-A: b\r\n")
        })
        .unanswered("timeout")
        .attempts(ATTEMPTS),
        row("drip-interim", |wire, _| wire.drip(b"HTTP/1.1 102 Processing\r\n\r\n"))
            .unanswered("timeout")
            .attempts(ATTEMPTS),
        row("drip-body", move |wire, _| {
            wire.send(&dripping)?;
            wire.drip(b"z")
        })
        .error("timeout")
        .cut("time")
        .attempts(ATTEMPTS)
        .within(),
        row("stall-at-once", |wire, _| wire.stall()).unanswered("timeout").attempts(ATTEMPTS),
        row("stall-in-body", move |wire, _| {
            wire.send(&stalling)?;
            wire.stall()
        })
        .error("timeout")
        .cut("time")
        .attempts(ATTEMPTS)
        .within(),
    ]
}

fn gone(site: Site) -> Vec<Row> {
    let broken = raw("Content-Length: 4000\r\n", &site.page("reset-in-body"));
    let links = ["/2", "/3", "/4"];
    let kept = page::whole("200 OK", page::HTML, &page::of(&links));
    let late = page::whole("200 OK", page::HTML, &site.page("reset-after"));
    let closing = row("closed-while-kept", move |wire, _| {
        wire.send(&kept)?;
        settle();
        Ok(Then::Close)
    })
    .races();
    vec![
        row("reset-at-once", |wire, _| wire.reset()).unanswered("disconnected").attempts(ATTEMPTS),
        row("reset-in-head", |wire, _| {
            wire.send("HTTP/1.1 200 OK\r\nContent-")?;
            settle();
            wire.reset()
        })
        .unanswered("disconnected")
        .attempts(ATTEMPTS),
        row("reset-in-body", move |wire, _| {
            wire.send(&broken)?;
            settle();
            wire.reset()
        })
        .error("incomplete")
        .cut("disconnect")
        .attempts(ATTEMPTS)
        .within(),
        row("reset-after", move |wire, _| {
            wire.send(&late)?;
            settle();
            wire.reset()
        })
        .within(),
        row("close-at-once", |_, _| Ok(Then::Close)).unanswered("disconnected").attempts(ATTEMPTS),
        links.iter().fold(closing, |row, path| row.further(site.url("closed-while-kept.test", path), 200)),
    ]
}

//! TLS: who is believed, and HTTP/2 by ALPN.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::server::{Step, send};
use super::{config, fetch_url, fetcher, rule};
use crate::config::Config;
use crate::model::ErrorKind;

type Talk = fn(&mut StreamOwned<ServerConnection, std::net::TcpStream>) -> std::io::Result<()>;

fn authority() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src/fetch/tests/tls/authority.pem"))
}

/// A server with a certificate for `site.test` that offers `protocol` and then talks.
fn tls_server(protocol: &[u8], talk: Talk) -> SocketAddr {
    tls_server_as(include_bytes!("tls/server.pem"), include_bytes!("tls/server.key"), protocol, talk)
}

/// The same, with a certificate and its key of the caller's choice.
fn tls_server_as(certificate: &[u8], key: &[u8], protocol: &[u8], talk: Talk) -> SocketAddr {
    let certificate = CertificateDer::from_pem_slice(certificate).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(key).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("a pair");
    config.alpn_protocols = vec![protocol.to_vec()];
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(config.clone()).expect("a connection");
            // a client that refuses the certificate ends this early
            let _ = talk(&mut StreamOwned::new(connection, stream));
        }
    });
    address
}

fn talk_http1(stream: &mut StreamOwned<ServerConnection, std::net::TcpStream>) -> std::io::Result<()> {
    let mut request = [0; 2048];
    let _ = stream.read(&mut request)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret")?;
    stream.conn.send_close_notify();
    stream.flush()
}

/// RFC 9113, by hand: settings, a head of `:status: 200` (HPACK's static entry 8), a body.
fn talk_http2(stream: &mut StreamOwned<ServerConnection, std::net::TcpStream>) -> std::io::Result<()> {
    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0])?;
    stream.flush()?;
    let mut preface = [0; 24];
    stream.read_exact(&mut preface)?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload)?;
        match head[3] {
            1 => {
                let id = &head[5..];
                stream
                    .write_all(&[&[0, 0, 1, 1, 4], id, &[0x88], &[0, 0, 6, 0, 1], id, b"second"].concat())?;
            }
            4 if head[4] & 1 == 0 => {
                // the window that we give a stream is bounded
                let window = payload.chunks(6).find(|setting| setting[..2] == [0, 4]);
                assert_eq!(
                    window
                        .map(|setting| u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]])),
                    Some(65_535)
                );
                stream.write_all(&[0, 0, 0, 4, 1, 0, 0, 0, 0])?;
            }
            _ => {}
        }
        stream.flush()?;
    }
}

fn named(ca_file: Option<PathBuf>, insecure: bool) -> Config {
    Config { ca_file, insecure, resolve: vec![rule("*.test", None, 1)], ..config() }
}

#[tokio::test]
async fn an_authority_must_be_known_unless_nobody_cares() {
    let address = tls_server(b"http/1.1", talk_http1);
    let url = format!("https://a.site.test:{}/", address.port());
    let error = fetch_url(&fetcher(&named(None, false)), &url).await.expect_err("unknown authority");
    assert_eq!((error.kind, error.requested), (ErrorKind::Tls, false), "{error}");
    for (ca_file, insecure) in [(Some(authority()), false), (None, true), (Some(authority()), true)] {
        let outcome = fetch_url(&fetcher(&named(ca_file, insecure)), &url).await.expect("an answer");
        assert_eq!(outcome.body, b"secret");
    }
    let literal = format!("https://127.0.0.1:{}/", address.port());
    assert!(fetch_url(&fetcher(&named(Some(authority()), false)), &literal).await.is_ok());
}

/// `selfmade.pem` is what `openssl req -x509` makes unless told otherwise: the certificate of an authority.
#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_names_the_remedy() {
    let refused = |address: SocketAddr| async move {
        let url = format!("https://site.test:{}/", address.port());
        fetch_url(&fetcher(&named(None, false)), &url).await.expect_err("not trusted").detail
    };
    let unknown = refused(tls_server(b"http/1.1", talk_http1)).await;
    assert!(unknown.contains("--ca-file") && unknown.contains("--insecure"), "{unknown}");
    let (certificate, key) = (include_bytes!("tls/selfmade.pem"), include_bytes!("tls/selfmade.key"));
    let address = tls_server_as(certificate, key, b"http/1.1", talk_http1);
    let selfmade = refused(address).await;
    assert!(selfmade.contains("CA:FALSE") && selfmade.contains("--insecure"), "{selfmade}");
    let url = format!("https://site.test:{}/", address.port());
    assert!(fetch_url(&fetcher(&named(None, true)), &url).await.is_ok(), "the remedy is one");
}

#[tokio::test]
async fn a_certificate_is_for_its_names_only() {
    let address = tls_server(b"http/1.1", talk_http1);
    let url = format!("https://other.test:{}/", address.port());
    let error = fetch_url(&fetcher(&named(Some(authority()), false)), &url).await.expect_err("another name");
    assert_eq!((error.kind, error.requested), (ErrorKind::Tls, false), "{error}");
    assert!(fetch_url(&fetcher(&named(None, true)), &url).await.is_ok());
}

#[tokio::test]
async fn http2_is_spoken_where_offered() {
    let address = tls_server(b"h2", talk_http2);
    let fetcher = fetcher(&named(Some(authority()), false));
    for _ in 0..2 {
        let outcome =
            fetch_url(&fetcher, &format!("https://site.test:{}/", address.port())).await.expect("an answer");
        assert_eq!((outcome.status, outcome.body.as_slice()), (200, &b"second"[..]));
        assert!(outcome.report.complete);
    }
}

#[tokio::test]
async fn broken_handshakes_are_tls_errors() {
    for script in [vec![], vec![send("HTTP/1.1 400 Bad Request\r\n\r\n")]] {
        let server = handshake_breaker(script).await;
        let url = format!("https://a.site.test:{}/", server.port());
        let error = fetch_url(&fetcher(&named(None, true)), &url).await.expect_err("no handshake");
        assert_eq!((error.kind, error.requested), (ErrorKind::Tls, false), "{error}");
    }
}

async fn handshake_breaker(script: Vec<Step>) -> SocketAddr {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            for step in &script {
                if let Step::Send(bytes) = step {
                    let _ = stream.write_all(bytes).await;
                }
            }
        }
    });
    address
}

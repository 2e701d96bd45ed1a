//! TLS as the crawl uses it: rustls with ring, the platform's certificate
//! authorities, those of `--ca-file`, or no verification at all (`--insecure`).

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;

use super::FetchSetupError;

/// What is offered in the handshake (ALPN).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocols {
    /// HTTP/2 and HTTP/1.1.
    All,
    /// Nothing, which means HTTP/1.1: for proxies.
    Http1,
}

/// The TLS settings of a crawl.
///
/// The platform's authorities are read at the first https connection: a crawl of http alone
/// does without them, and without the memory they take.
pub(super) struct Tls {
    trust: Trust,
    configs: OnceLock<Result<[Arc<ClientConfig>; 2], String>>,
}

/// Who is believed.
enum Trust {
    /// The platform's authorities, and these.
    Authorities(Vec<CertificateDer<'static>>),
    Anybody,
}

impl Tls {
    /// Settings that trust the platform's authorities and those of `ca_file`, or, where `insecure`, anybody.
    ///
    /// # Errors
    /// `ca_file` cannot be used.
    pub(super) fn new(ca_file: Option<&Path>, insecure: bool) -> Result<Tls, FetchSetupError> {
        let given = ca_file.map(read_certificates).transpose()?.unwrap_or_default();
        let trust = if insecure { Trust::Anybody } else { Trust::Authorities(given) };
        Ok(Tls { trust, configs: OnceLock::new() })
    }

    /// The settings for one connection.
    ///
    /// # Errors
    /// No certificate authorities can be found.
    pub(super) fn config(&self, protocols: Protocols) -> Result<Arc<ClientConfig>, rustls::Error> {
        let configs = self.configs.get_or_init(|| self.build().map_err(|error| error.to_string()));
        match configs {
            Ok([all, http1]) => Ok(if protocols == Protocols::All { all } else { http1 }.clone()),
            Err(error) => Err(rustls::Error::General(format!(
                "no certificate authorities can be had from this system ({error}); give some with --ca-file"
            ))),
        }
    }

    fn build(&self) -> Result<[Arc<ClientConfig>; 2], rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
        let verifier: Arc<dyn ServerCertVerifier> = match &self.trust {
            Trust::Anybody => Arc::new(AcceptAny(provider)),
            Trust::Authorities(given) => Arc::new(Verifier::new_with_extra_roots(given.clone(), provider)?),
        };
        let http1 = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
        let mut all = http1.clone();
        all.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok([Arc::new(all), Arc::new(http1)])
    }
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, FetchSetupError> {
    let refuse = |reason: String| FetchSetupError::CaFile { path: path.display().to_string(), reason };
    let text = std::fs::read(path).map_err(|error| refuse(error.to_string()))?;
    let certificates = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| refuse("this is no PEM file".to_owned()))?;
    if certificates.is_empty() {
        return Err(refuse("no certificate in it (PEM is expected)".to_owned()));
    }
    let mut store = RootCertStore::empty();
    for certificate in &certificates {
        store
            .add(certificate.clone())
            .map_err(|error| refuse(format!("a certificate is damaged: {error}")))?;
    }
    Ok(certificates)
}

/// `--insecure`: whoever answers is believed.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

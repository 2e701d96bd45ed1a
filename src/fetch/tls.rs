//! TLS as the crawl uses it: rustls with ring, the platform's certificate
//! authorities, those of `--ca-file`, or no verification at all (`--insecure`).

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::Verifier;

use super::FetchSetupError;

/// The TLS settings, and what a user should be told about them.
pub(super) struct Tls {
    pub(super) config: ClientConfig,
    pub(super) note: Option<&'static str>,
}

/// Builds the TLS settings for HTTP/2 and HTTP/1.1 by ALPN.
pub(super) fn build(ca_file: Option<&Path>, insecure: bool) -> Result<Tls, FetchSetupError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let failed = |error: rustls::Error| FetchSetupError::Client(error.to_string());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let extra = ca_file.map(read_certificates).transpose()?.unwrap_or_default();
    let mut note = None;
    let mut config = if insecure {
        let verifier = Arc::new(AcceptAny(provider));
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    } else {
        match Verifier::new_with_extra_roots(extra, provider) {
            Ok(verifier) => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
            }
            // a machine without certificate authorities can still crawl http
            Err(_) if ca_file.is_none() => {
                note = Some(
                    "no certificate authorities found on this system: https will fail (give some with --ca-file)",
                );
                builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
            }
            Err(error) => return Err(failed(error)),
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Tls { config, note })
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

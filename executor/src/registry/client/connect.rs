//! How connections are made: certificates, proxies, redirects.

use std::path::Path;

use reqwest::header::LOCATION;
use reqwest::{Certificate, NoProxy, Proxy, Response, Url};

use super::{Deadlines, Environment, RegistryError, Settings, malformed};

/// How many redirects are followed.
pub(super) const MAX_REDIRECTS: u32 = 5;

pub(super) fn client(settings: &Settings, env: &Environment, deadlines: &Deadlines) -> Result<reqwest::Client, RegistryError> {
    // Redirects are followed by hand, so that each hop gets the credential of its own host or none.
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("ocsweep/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(deadlines.connect)
        .read_timeout(deadlines.idle)
        .no_proxy();
    for proxy in proxies(settings, env)? {
        builder = builder.proxy(proxy);
    }
    let roots = extra_roots(settings, env)?;
    if !roots.is_empty() {
        builder = builder.tls_certs_merge(roots);
    }
    builder.build().map_err(|error| RegistryError::Settings { problem: format!("cannot set up HTTPS: {error:?}") })
}

/// npm's own settings win over the variables that other programs use too.
fn proxies(settings: &Settings, env: &Environment) -> Result<Vec<Proxy>, RegistryError> {
    let no_proxy = || {
        let list = settings.no_proxy.as_deref().or_else(|| env.first(&["NO_PROXY", "no_proxy"]));
        list.and_then(NoProxy::from_string)
    };
    let bad =
        |error: reqwest::Error| RegistryError::Settings { problem: format!("the proxy's address cannot be used: {}", error.without_url()) };
    let mut proxies = Vec::new();
    let https = settings.https_proxy.as_deref().or_else(|| env.first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]));
    if let Some(address) = https.or(settings.http_proxy.as_deref()) {
        proxies.push(Proxy::https(address).map_err(bad)?.no_proxy(no_proxy()));
    }
    let http = settings.http_proxy.as_deref().or_else(|| env.first(&["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"]));
    if let Some(address) = http {
        proxies.push(Proxy::http(address).map_err(bad)?.no_proxy(no_proxy()));
    }
    Ok(proxies)
}

/// Certificates beside the platform's. `SSL_CERT_FILE` and `SSL_CERT_DIR` are read by the platform verifier itself.
fn extra_roots(settings: &Settings, env: &Environment) -> Result<Vec<Certificate>, RegistryError> {
    let mut roots = Vec::new();
    if let Some(cafile) = &settings.cafile {
        roots.extend(bundle(cafile).map_err(|problem| RegistryError::Settings { problem: format!("cafile {cafile}: {problem}") })?);
    }
    if let Some(extra) = env.get("NODE_EXTRA_CA_CERTS") {
        match bundle(extra) {
            Ok(certificates) => roots.extend(certificates),
            // Node itself goes on without the file.
            Err(problem) => tracing::warn!(file = extra, problem, "NODE_EXTRA_CA_CERTS is ignored"),
        }
    }
    Ok(roots)
}

fn bundle(path: &str) -> Result<Vec<Certificate>, String> {
    let pem = std::fs::read(Path::new(path)).map_err(|error| error.to_string())?;
    Certificate::from_pem_bundle(&pem).map_err(|error| format!("no PEM certificates: {error}"))
}

/// The address that an answer redirects to. A step from `https` to `http` is refused.
pub(super) fn redirect(from: &Url, response: &Response) -> Result<Option<Url>, RegistryError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    next_address(from, location).map(Some)
}

fn next_address(from: &Url, location: Option<&str>) -> Result<Url, RegistryError> {
    let next = location.and_then(|text| from.join(text).ok()).ok_or_else(|| malformed(from, "it redirects to nowhere"))?;
    match (from.scheme(), next.scheme()) {
        (_, "https") | ("http", "http") => Ok(next),
        _ => Err(malformed(from, "it redirects to an address that is not https")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_cafile_is_named_and_missing_extra_certificates_are_not_fatal() {
        let mut settings = Settings::default();
        settings.cafile = Some("/nonexistent/ca.pem".to_owned());
        let error = extra_roots(&settings, &Environment::default()).unwrap_err().to_string();
        assert!(error.starts_with("cafile /nonexistent/ca.pem: "), "{error}");
        let env: Environment = [("NODE_EXTRA_CA_CERTS", "/nonexistent/ca.pem")].into_iter().collect();
        assert!(extra_roots(&Settings::default(), &env).unwrap().is_empty());
    }

    #[test]
    fn a_redirect_never_leaves_https() {
        let next = |from: &str, to: Option<&str>| next_address(&Url::parse(from).unwrap(), to).ok().map(String::from);
        let cases = [
            ("https://a.example/x", Some("/y"), Some("https://a.example/y")),
            ("https://a.example/x", Some("https://b.example/y"), Some("https://b.example/y")),
            ("http://a.example/x", Some("https://b.example/y"), Some("https://b.example/y")),
            ("http://a.example/x", Some("http://b.example/y"), Some("http://b.example/y")),
            ("https://a.example/x", Some("http://a.example/x"), None),
            ("http://a.example/x", Some("file:///etc/passwd"), None),
            ("https://a.example/x", None, None),
        ];
        for (from, to, expected) in cases {
            assert_eq!(next(from, to).as_deref(), expected, "{from} {to:?}");
        }
    }

    #[test]
    fn a_bad_proxy_does_not_show_its_password() {
        let mut settings = Settings::default();
        settings.https_proxy = Some("http://user:hunter2@[bad".to_owned());
        let error = proxies(&settings, &Environment::default()).unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }
}

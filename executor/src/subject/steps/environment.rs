//! The environment of a prepare container: the registry, proxies and certificates of this machine, and none of its secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use reqwest::Url;

use crate::registry::{Environment, Settings};

/// Where a Linux system keeps the certificates that it trusts.
const SYSTEM_BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/ssl/cert.pem",
];
const PROXIES: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
const NO_PROXIES: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// Variables by which npm, bun, git, curl and python find a certificate bundle.
const BUNDLE_VARIABLES: [&str; 6] =
    ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "npm_config_cafile", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"];
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// The variables of a prepare container. `home` and `bundle` are paths in the container; `bundle` is where the certificates of
/// [`certificates`] lie.
#[must_use]
pub fn variables(env: &Environment, settings: &Settings, home: &str, bundle: Option<&str>) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    let mut set = |name: &str, value: &str| drop(variables.insert(name.to_owned(), value.to_owned()));
    for (name, value) in [("CI", "1"), ("HOME", home), ("TERM", "dumb"), ("npm_config_update_notifier", "false")] {
        set(name, value);
    }
    if let Some(registry) = settings.default_registry() {
        set("npm_config_registry", registry.as_str());
    }
    if let Some(bundle) = bundle {
        BUNDLE_VARIABLES.iter().for_each(|name| set(name, bundle));
    }
    for name in PROXIES {
        if let Some(proxy) = env.get(name).and_then(without_credentials) {
            set(name, &proxy);
        }
    }
    for (name, configured) in [("npm_config_https_proxy", &settings.https_proxy), ("npm_config_proxy", &settings.http_proxy)] {
        if let Some(proxy) = configured.as_deref().and_then(without_credentials) {
            set(name, &proxy);
        }
    }
    for name in NO_PROXIES {
        if let Some(hosts) = env.get(name) {
            set(name, hosts);
        }
    }
    variables
}

/// The text of an `.npmrc` with the registries of single scopes, `None` when there are none. It holds no token.
#[must_use]
pub fn npmrc(settings: &Settings) -> Option<String> {
    let lines: Vec<String> = settings.scoped_registries().map(|(scope, url)| format!("{scope}:registry={url}\n")).collect();
    (!lines.is_empty()).then(|| lines.concat())
}

/// A proxy's address without user and password; `None` when it cannot be read well enough to be sure.
fn without_credentials(proxy: &str) -> Option<String> {
    let with_scheme = if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
    let mut url = Url::parse(&with_scheme).ok()?;
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    url.set_query(None);
    url.set_fragment(None);
    Some(url.to_string())
}

/// The certificates that this machine trusts, as one PEM text: the system's, or `SSL_CERT_FILE` instead, with `NODE_EXTRA_CA_CERTS` and npm's
/// `cafile`. Only certificates are taken: a bundle may hold a private key. `None` when there are none.
#[must_use]
pub fn certificates(env: &Environment, settings: &Settings) -> Option<String> {
    let system = SYSTEM_BUNDLES.iter().copied().find(|path| Path::new(path).is_file());
    let files = [env.get("SSL_CERT_FILE").or(system), env.get("NODE_EXTRA_CA_CERTS"), settings.cafile.as_deref()];
    let mut seen = BTreeSet::new();
    let mut bundle = String::new();
    for file in files.into_iter().flatten() {
        let Ok(text) = std::fs::read(file) else {
            tracing::warn!(file, "a certificate bundle cannot be read");
            continue;
        };
        for certificate in blocks(&String::from_utf8_lossy(&text)) {
            if seen.insert(certificate.to_owned()) {
                bundle.push_str(certificate);
                bundle.push('\n');
            }
        }
    }
    (!bundle.is_empty()).then_some(bundle)
}

fn blocks(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(BEGIN) {
        let Some(length) = rest[start..].find(END) else { break };
        let end = start + length + END.len();
        found.push(&rest[start..end]);
        rest = &rest[end..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        Settings::from_layers(&[pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()]).unwrap()
    }

    #[test]
    fn no_secret_gets_into_a_container() {
        let env: Environment = [
            ("HTTPS_PROXY", "http://user:s3cret@proxy.example:3128"),
            ("http_proxy", "user:s3cret@proxy.example:3128"),
            ("ALL_PROXY", "http://s3cret@[bad"),
            ("NO_PROXY", "localhost,.corp"),
            ("NPM_TOKEN", "s3cret"),
            ("npm_config__auth", "s3cret"),
        ]
        .into_iter()
        .collect();
        let settings = settings(&[
            ("registry", "https://npm.example/x"),
            ("@s:registry", "https://s.example"),
            ("//npm.example/x/:_authToken", "s3cret"),
            ("https-proxy", "http://user:s3cret@proxy.example"),
        ]);
        let variables = variables(&env, &settings, "/home/x", Some("/ca.crt"));
        assert!(!format!("{variables:?}").contains("s3cret"), "{variables:?}");
        let get = |name: &str| variables.get(name).map(String::as_str);
        assert_eq!(get("HTTPS_PROXY"), Some("http://proxy.example:3128/"));
        assert_eq!(get("http_proxy"), Some("http://proxy.example:3128/"));
        assert_eq!(get("ALL_PROXY"), None);
        assert_eq!(get("npm_config_https_proxy"), Some("http://proxy.example/"));
        assert_eq!(get("NO_PROXY"), Some("localhost,.corp"));
        assert_eq!(get("npm_config_registry"), Some("https://npm.example/x/"));
        assert_eq!(get("npm_config_cafile"), Some("/ca.crt"));
        assert_eq!(get("NODE_EXTRA_CA_CERTS"), Some("/ca.crt"));
        assert_eq!(npmrc(&settings).unwrap(), "@s:registry=https://s.example/\n");
    }

    #[test]
    fn only_certificates_are_taken_and_each_once() {
        let dir = tempfile::tempdir().unwrap();
        let certificate = |text: &str| format!("{BEGIN}\n{text}\n{END}\n");
        let key = "-----BEGIN PRIVATE KEY-----\nS3CRET\n-----END PRIVATE KEY-----\n";
        let write = |name: &str, text: String| {
            std::fs::write(dir.path().join(name), text).unwrap();
            dir.path().join(name).display().to_string()
        };
        let system = write("system", certificate("A") + &certificate("B"));
        let extra = write("extra", format!("# note\n{key}{}{}", certificate("B"), certificate("C")));
        let env: Environment = [("SSL_CERT_FILE", system), ("NODE_EXTRA_CA_CERTS", extra)].into_iter().collect();
        let bundle = certificates(&env, &settings(&[("cafile", "/nonexistent")])).unwrap();
        assert_eq!(bundle, certificate("A") + &certificate("B") + &certificate("C"));
        assert!(!bundle.contains("S3CRET"));
    }
}

//! What npm's configuration says: registries by scope, certificates, proxies, tokens. Pure: layers of pairs in, settings out.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;

use super::RegistryError;
use super::npmrc::Pair;

/// The settings of the registry client.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    registry: Option<Url>,
    scopes: BTreeMap<String, Url>,
    auth: Vec<Credential>,
    /// Path of a PEM bundle whose certificates are trusted beside the platform's.
    pub cafile: Option<String>,
    /// Proxy for `https:` addresses.
    pub https_proxy: Option<String>,
    /// Proxy for `http:` addresses.
    pub http_proxy: Option<String>,
    /// Hosts that are reached without a proxy, separated by commas.
    pub no_proxy: Option<String>,
}

/// What proves who we are to one host and path. Its text never shows the secret.
#[derive(Clone)]
struct Credential {
    host: String,
    path: String,
    header: String,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "credential for //{}{}", self.host, self.path)
    }
}

impl Settings {
    /// The settings of several layers; a layer wins over the ones behind it.
    ///
    /// # Errors
    /// When a registry's address is no `http:` or `https:` URL.
    pub fn from_layers(layers: &[Vec<Pair>]) -> Result<Self, RegistryError> {
        let mut merged: BTreeMap<&str, &str> = BTreeMap::new();
        for (key, value) in layers.iter().flatten() {
            merged.entry(key).or_insert(value);
        }
        let mut settings = Self::default();
        for (key, value) in &merged {
            settings.set(key, value)?;
        }
        settings.auth = credentials(&merged, settings.registry.as_ref());
        Ok(settings)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), RegistryError> {
        let text = || Some(value.to_owned()).filter(|text| !text.is_empty() && text != "null");
        match key {
            "registry" => self.registry = Some(registry_url(value)?),
            "cafile" => self.cafile = text(),
            "https-proxy" => self.https_proxy = text(),
            "proxy" => self.http_proxy = text(),
            "noproxy" => self.no_proxy = text(),
            _ => {
                if let Some(scope) = key.strip_suffix(":registry").filter(|scope| scope.starts_with('@')) {
                    self.scopes.insert(scope.to_owned(), registry_url(value)?);
                }
            }
        }
        Ok(())
    }

    /// The default registry, when a layer names one.
    #[must_use]
    pub fn default_registry(&self) -> Option<&Url> {
        self.registry.as_ref()
    }

    /// Registries of single scopes.
    pub fn scoped_registries(&self) -> impl Iterator<Item = (&str, &Url)> {
        self.scopes.iter().map(|(scope, url)| (scope.as_str(), url))
    }

    /// The registry of a package: its scope's, else the default one.
    #[must_use]
    pub fn registry_of(&self, package: &str) -> Option<&Url> {
        let scope = package.split_once('/').map(|(scope, _)| scope);
        scope.and_then(|scope| self.scopes.get(scope)).or(self.registry.as_ref())
    }

    /// The `Authorization` header for an address: the credential of that very host whose path is the longest one above the address.
    #[must_use]
    pub(crate) fn authorization(&self, url: &Url) -> Option<&str> {
        let host = authority(url)?;
        let path = url.path();
        let fits = |credential: &&Credential| credential.host == host && path.starts_with(&credential.path);
        self.auth.iter().filter(fits).max_by_key(|credential| credential.path.len()).map(|credential| credential.header.as_str())
    }
}

fn registry_url(text: &str) -> Result<Url, RegistryError> {
    let invalid = |problem: &str| RegistryError::Settings { problem: format!("the registry address {text:?} {problem}") };
    let mut url = Url::parse(text.trim()).map_err(|_| invalid("is no URL"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(invalid("is neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // Not shown: the address holds a password.
        let problem = "a registry address must not hold a user name or password: use `//host/:_authToken=` in .npmrc".to_owned();
        return Err(RegistryError::Settings { problem });
    }
    url.set_query(None);
    url.set_fragment(None);
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

/// `host` or `host:port`, as npm writes it in `//host/path/:_authToken`.
fn authority(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

fn credentials(merged: &BTreeMap<&str, &str>, registry: Option<&Url>) -> Vec<Credential> {
    let default_place = registry.and_then(|url| Some((authority(url)?, url.path().to_owned())));
    let mut found = Vec::new();
    for (key, value) in merged {
        let (place, name) = match key.strip_prefix("//").and_then(|rest| rest.rsplit_once(':')) {
            Some((place, name)) => (split_place(place), name),
            // A credential without a host belongs to the default registry and to nobody else.
            None => (default_place.clone(), *key),
        };
        let Some((host, path)) = place else { continue };
        let user = |name: &str| merged.get(format!("{}:{name}", key.rsplit_once(':').map_or("", |(place, _)| place)).as_str()).copied();
        if let Some(header) = header(name, value, user("username")) {
            found.push(Credential { host, path, header });
        }
    }
    found
}

fn split_place(place: &str) -> Option<(String, String)> {
    let (host, path) = place.split_once('/').unwrap_or((place, ""));
    let path = path.trim_end_matches('/');
    let path = if path.is_empty() { "/".to_owned() } else { format!("/{path}/") };
    (!host.is_empty()).then(|| (host.to_lowercase(), path))
}

fn header(name: &str, value: &str, username: Option<&str>) -> Option<String> {
    if value.is_empty() || value.contains("${") || value.chars().any(char::is_control) {
        return None;
    }
    match name.to_ascii_lowercase().as_str() {
        "_authtoken" => Some(format!("Bearer {value}")),
        "_auth" => Some(format!("Basic {value}")),
        "_password" => {
            let password = String::from_utf8(STANDARD.decode(value).ok()?).ok()?;
            Some(format!("Basic {}", STANDARD.encode(format!("{}:{password}", username?))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        Settings::from_layers(&[pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()]).unwrap()
    }

    fn authorization(settings: &Settings, url: &str) -> Option<String> {
        settings.authorization(&Url::parse(url).unwrap()).map(str::to_owned)
    }

    #[test]
    fn the_first_layer_wins_and_a_scope_has_its_own_registry() {
        let layer = |value: &str| vec![("registry".to_owned(), value.to_owned())];
        let settings = Settings::from_layers(&[layer("https://one.example/npm"), layer("https://two.example")]).unwrap();
        assert_eq!(settings.registry_of("x").unwrap().as_str(), "https://one.example/npm/");
        let scoped = super::tests::settings(&[("registry", "https://a.example"), ("@s:registry", "https://b.example/x/")]);
        assert_eq!(scoped.registry_of("@s/p").unwrap().as_str(), "https://b.example/x/");
        assert_eq!(scoped.registry_of("@t/p").unwrap().as_str(), "https://a.example/");
        assert_eq!(scoped.registry_of("s").unwrap().as_str(), "https://a.example/");
    }

    #[test]
    fn a_token_goes_to_its_own_host_and_path_only() {
        let settings =
            settings(&[("registry", "https://a.example/npm/"), ("//a.example/npm/:_authToken", "T"), ("//b.example:81/:_auth", "dTpw")]);
        let cases = [
            ("https://a.example/npm/x", Some("Bearer T")),
            ("https://a.example/npm/@s%2fx/-/x.tgz", Some("Bearer T")),
            ("https://a.example/npm-evil/x", None),
            ("https://a.example/other", None),
            ("https://a.example:444/npm/x", None),
            ("https://a.example.evil/npm/x", None),
            ("https://evil.a.example/npm/x", None),
            ("http://b.example:81/x", Some("Basic dTpw")),
            ("http://b.example/x", None),
        ];
        for (url, expected) in cases {
            assert_eq!(authorization(&settings, url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn kinds_of_credentials() {
        let with = |pairs: &[(&str, &str)]| {
            let mut all = vec![("registry", "https://a.example/")];
            all.extend_from_slice(pairs);
            authorization(&settings(&all), "https://a.example/x")
        };
        assert_eq!(with(&[("_auth", "dTpw")]).as_deref(), Some("Basic dTpw"));
        assert_eq!(with(&[("_authtoken", "T")]).as_deref(), Some("Bearer T"));
        assert_eq!(with(&[("//a.example/:username", "u"), ("//a.example/:_password", "cA==")]).as_deref(), Some("Basic dTpw"));
        assert_eq!(with(&[("//a.example/:_password", "cA==")]), None);
        assert_eq!(with(&[("//a.example/:_authToken", "${UNSET}")]), None);
        assert_eq!(with(&[("//a.example/:_authToken", "T"), ("//a.example/x:_authToken", "U")]).as_deref(), Some("Bearer T"));
    }

    #[test]
    fn a_secret_is_in_no_debug_text() {
        let settings = settings(&[("registry", "https://a.example/"), ("//a.example/:_authToken", "s3cret-value")]);
        assert!(!format!("{settings:?}").contains("s3cret-value"));
    }

    #[test]
    fn bad_registries_are_refused_without_showing_a_password() {
        for text in ["file:///x", "not a url", "ftp://a.example", "https://user:hunter2@a.example/"] {
            let pairs = vec![("registry".to_owned(), text.to_owned())];
            let error = Settings::from_layers(&[pairs]).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}

//! The text of an `.npmrc` file and the `npm_config_*` variables, as pairs of key and value. Pure; knows nothing of what a key means.

use super::Environment;

/// One setting, for example `registry` or `//host/:_authToken`.
pub type Pair = (String, String);

const ENV_PREFIX: &str = "npm_config_";

/// Reads the text of an `.npmrc` file: `key = value` lines, comments, `${VARIABLE}` in keys and values. Sections are ignored, as npm does.
#[must_use]
pub fn parse(text: &str, env: &Environment) -> Vec<Pair> {
    text.trim_start_matches('\u{feff}').lines().filter_map(|line| pair(line.trim(), env)).collect()
}

fn pair(line: &str, env: &Environment) -> Option<Pair> {
    if line.is_empty() || line.starts_with([';', '#', '[']) {
        return None;
    }
    let (key, value) = line.split_once('=').unwrap_or((line, "true"));
    let key = key.trim().trim_end_matches("[]");
    Some((expand(key, env), expand(unquoted(value.trim()), env)))
}

fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    value
}

/// Replaces `${NAME}` by the variable; `${NAME?}` by nothing when it is not set. An unset `${NAME}` stays, so that a reader can tell.
fn expand(text: &str, env: &Environment) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        let name = &rest[start + 2..start + length];
        out.push_str(&rest[..start]);
        match (env.get(name.trim_end_matches('?')), name.ends_with('?')) {
            (Some(value), _) => out.push_str(value),
            (None, true) => {}
            (None, false) => out.push_str(&rest[start..=start + length]),
        }
        rest = &rest[start + length + 1..];
    }
    out.push_str(rest);
    out
}

/// The settings that the environment holds: `npm_config_registry` is `registry`, `npm_config_https_proxy` is `https-proxy`, in any case
/// of letters; a key that begins with `//` is kept as it is.
#[must_use]
pub fn from_environment(env: &Environment) -> Vec<Pair> {
    env.iter().filter(|(_, value)| !value.is_empty()).filter_map(|(name, value)| Some((env_key(name)?, value.to_owned()))).collect()
}

fn env_key(name: &str) -> Option<String> {
    let prefix = name.get(..ENV_PREFIX.len())?;
    let key = name.get(ENV_PREFIX.len()..)?;
    if !prefix.eq_ignore_ascii_case(ENV_PREFIX) || key.is_empty() {
        return None;
    }
    if key.starts_with("//") {
        return Some(key.to_owned());
    }
    let (first, rest) = key.split_at(key.chars().next().map_or(0, char::len_utf8));
    Some(format!("{first}{}", rest.replace('_', "-")).to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env() -> Environment {
        [("TOKEN", "s3cret"), ("HOST", "npm.example")].into_iter().collect()
    }

    #[test]
    fn lines_of_a_file() {
        let cases: &[(&str, Option<(&str, &str)>)] = &[
            ("registry=https://npm.example/", Some(("registry", "https://npm.example/"))),
            ("  registry = \"https://npm.example/\"  ", Some(("registry", "https://npm.example/"))),
            ("@a:registry='https://a.example'", Some(("@a:registry", "https://a.example"))),
            ("; registry=x", None),
            ("# registry=x", None),
            ("[section]", None),
            ("", None),
            ("audit", Some(("audit", "true"))),
            ("ca[]=one", Some(("ca", "one"))),
            ("//h/:_authToken=${TOKEN}", Some(("//h/:_authToken", "s3cret"))),
            ("//${HOST}/:_authToken=a=b", Some(("//npm.example/:_authToken", "a=b"))),
            ("x=${NOPE}", Some(("x", "${NOPE}"))),
            ("x=a${NOPE?}b", Some(("x", "ab"))),
            ("x=${TOKEN", Some(("x", "${TOKEN"))),
        ];
        for (line, expected) in cases {
            let expected: Vec<Pair> = expected.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            assert_eq!(parse(line, &env()), expected, "{line}");
        }
    }

    #[test]
    fn variables_become_keys() {
        let cases = [
            ("npm_config_registry", Some("registry")),
            ("NPM_CONFIG_REGISTRY", Some("registry")),
            ("npm_config_https_proxy", Some("https-proxy")),
            ("npm_config__auth", Some("_auth")),
            ("npm_config_//h_x/:_authToken", Some("//h_x/:_authToken")),
            ("npm_config_", None),
            ("npm_configregistry", None),
            ("REGISTRY", None),
        ];
        for (name, key) in cases {
            assert_eq!(env_key(name).as_deref(), key, "{name}");
        }
    }
}

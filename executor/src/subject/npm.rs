//! A published package as a subject: `npm:<name>[@version]`, its tarball, and the installation in a container, without its scripts.

use std::path::Path;

use ocsweep_proto::job::NpmSource;
use serde_json::json;

use super::steps::{InputContent, InputFile, PrepareSteps, Step, StepKind, environment};
use crate::registry::name::{check_name, is_wanted};
use crate::registry::{Registry, RegistryError, Release, Settings, Tarball};

/// How a subject that is a published package begins.
pub const PREFIX: &str = "npm:";
const TARBALL: &str = "subject.tgz";

/// Why a text names no package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid subject {text:?}: {problem}")]
pub struct SpecError {
    text: String,
    problem: String,
}

/// Reads `npm:<name>[@version]`, where the version may be a range or a tag. `None` when the text does not begin with `npm:`.
///
/// # Errors
/// When the name or the version is none; paths, addresses and git references are not accepted.
pub fn parse(text: &str) -> Option<Result<NpmSource, SpecError>> {
    let spec = text.strip_prefix(PREFIX)?;
    let bad = |problem: String| SpecError { text: text.to_owned(), problem };
    // The first character may be the `@` of a scope.
    let at = spec.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
    let (name, wanted) = at.map_or((spec, None), |at| (&spec[..at], Some(&spec[at + 1..])));
    if let Err(error) = check_name(name) {
        return Some(Err(bad(error.to_string())));
    }
    if let Some(wanted) = wanted.filter(|wanted| !is_wanted(wanted)) {
        return Some(Err(bad(format!("{wanted:?} is no version, range or tag"))));
    }
    Some(Ok(NpmSource { name: name.to_owned(), wanted: wanted.map(str::to_owned) }))
}

/// A package at an exact version, downloaded and verified.
#[derive(Debug)]
pub struct Fetched {
    /// The release.
    pub release: Release,
    /// Its tarball; the file goes when the value does.
    pub tarball: Tarball,
    /// Findings for the load row.
    pub warnings: Vec<String>,
}

/// Looks a package up and downloads its tarball into a new file of `into`.
///
/// # Errors
/// See [`RegistryError`]; [`RegistryError::reason`] tells the subject's fault from the registry's.
pub async fn fetch(registry: &Registry, source: &NpmSource, into: &Path) -> Result<Fetched, RegistryError> {
    let release = registry.lookup(&source.name, source.wanted.as_deref()).await?;
    let tarball = registry.download(&release, into).await?;
    let warnings = release.deprecated().map(|text| format!("{}@{} is deprecated: {text}", release.package, release.version));
    Ok(Fetched { release, tarball, warnings: warnings.into_iter().collect() })
}

/// The installation of a downloaded package, as the host would do it: with its dependencies, without install scripts.
#[must_use]
pub fn prepare_steps(fetched: &Fetched, settings: &Settings) -> PrepareSteps {
    let file = |path: &str, content| InputFile { path: path.to_owned(), content };
    let manifest = json!({"private": true}).to_string().into_bytes();
    let mut files =
        vec![file("package.json", InputContent::Bytes(manifest)), file(TARBALL, InputContent::File(fetched.tarball.file.to_path_buf()))];
    files.extend(environment::npmrc(settings).map(|text| file(".npmrc", InputContent::Bytes(text.into_bytes()))));
    let argv: Vec<String> = ["npm", "install", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", &format!("./{TARBALL}")]
        .map(str::to_owned)
        .to_vec();
    let step = Step { kind: StepKind::Install, command: argv.join(" "), argv, directory: String::new() };
    // Lock files name the registry's address, which is no content of the subject.
    let exclude = [TARBALL, "package.json", "package-lock.json", "node_modules/.package-lock.json"].map(str::to_owned).to_vec();
    PrepareSteps {
        files,
        steps: vec![step],
        directory: format!("node_modules/{}", fetched.release.package),
        exclude,
        scripts_were_skipped: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::testing::TestServer;
    use ocsweep_proto::verdict::Reason;
    use proptest::prelude::*;
    use serde_json::json;

    fn shown(text: &str) -> Option<Result<(String, Option<String>), String>> {
        Some(parse(text)?.map(|source| (source.name, source.wanted)).map_err(|error| error.to_string()))
    }

    #[test]
    fn subjects() {
        let ok = |name: &str, wanted: Option<&str>| Some(Ok((name.to_owned(), wanted.map(str::to_owned))));
        assert_eq!(shown("npm:opencode-pty"), ok("opencode-pty", None));
        assert_eq!(shown("npm:opencode-pty@0.1.3"), ok("opencode-pty", Some("0.1.3")));
        assert_eq!(shown("npm:@s/p"), ok("@s/p", None));
        assert_eq!(shown("npm:@s/p@^1 || 2"), ok("@s/p", Some("^1 || 2")));
        assert_eq!(shown("npm:p@latest"), ok("p", Some("latest")));
        assert_eq!(shown("./npm"), None);
        assert_eq!(shown("opencode-pty"), None);
        for text in [
            "npm:",
            "npm:@",
            "npm:@s",
            "npm:p@",
            "npm:../p",
            "npm:p@../x",
            "npm:p@file:../x",
            "npm:p@git+https://x/y",
            "npm:p@1@2",
            "npm:a/b",
            "npm:p@npm:q",
            "npm:p@$(x)",
        ] {
            let error = shown(text).unwrap().unwrap_err();
            assert!(error.starts_with(&format!("invalid subject {text:?}: ")), "{error}");
        }
    }

    #[tokio::test]
    async fn a_package_becomes_steps() {
        let server = TestServer::start().await;
        server.publish("@s/p", &["1.0.0", "1.1.0"], &json!({"deprecated": "use q"}), b"tarball");
        let dir = tempfile::tempdir().unwrap();
        let registry = server.client_with(&[("@s:registry", &server.url), ("//x/:_authToken", "s3cret")]);
        let source = parse("npm:@s/p@1.0").unwrap().unwrap();
        let fetched = fetch(&registry, &source, dir.path()).await.unwrap();
        assert_eq!(fetched.release.version, "1.0.0");
        assert_eq!(fetched.warnings, ["@s/p@1.0.0 is deprecated: use q"]);
        let steps = prepare_steps(&fetched, registry.settings());
        assert_eq!(steps.steps[0].command, "npm install --ignore-scripts --omit=dev --no-audit --no-fund ./subject.tgz");
        assert_eq!(steps.directory, "node_modules/@s/p");
        assert_eq!(steps.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["package.json", "subject.tgz", ".npmrc"]);
        assert!(!format!("{steps:?}").contains("s3cret"));
        let missing = fetch(&registry, &parse("npm:nope").unwrap().unwrap(), dir.path()).await.unwrap_err();
        assert_eq!(missing.reason(), Reason::PackageNotFound);
    }

    proptest! {
        #[test]
        fn an_accepted_subject_has_no_path_syntax(text in "npm:[@a-z./\\\\:~^ -]{0,12}") {
            if let Some(Ok(source)) = parse(&text) {
                prop_assert!(source.name.split('/').count() <= 2 && source.name.split('/').all(|part| !part.starts_with('.')));
                prop_assert!(source.wanted.is_none_or(|wanted| !wanted.contains(['/', '\\', ':'])));
            }
        }
    }
}

//! What a registry says about a package: its tags and versions, and the choice of one. Pure: text in, release out.

use std::collections::BTreeMap;

use semver::Version;
use serde::Deserialize;
use serde_json::Value;

use super::RegistryError;
use super::integrity::Integrity;
use super::range::Range;

const NEAREST: usize = 5;

/// The registry's document about one package.
#[derive(Debug, Clone, Deserialize)]
pub struct Packument {
    /// Package name, as the registry writes it.
    #[serde(default)]
    pub name: String,
    /// Tags, for example `latest`.
    #[serde(rename = "dist-tags", default)]
    pub dist_tags: BTreeMap<String, String>,
    #[serde(default)]
    versions: BTreeMap<String, Value>,
}

/// One published version of a package.
#[derive(Debug, Clone)]
pub struct Release {
    /// Package name.
    pub package: String,
    /// Exact version.
    pub version: String,
    /// Address of the tarball.
    pub tarball: String,
    /// The hash that the tarball must have.
    pub integrity: Integrity,
    /// The registry's manifest of the version; may be an abbreviated one.
    pub manifest: Value,
}

impl Release {
    /// The packages of `optionalDependencies` with their versions.
    #[must_use]
    pub fn optional_dependencies(&self) -> BTreeMap<&str, &str> {
        let map = self.manifest.get("optionalDependencies").and_then(Value::as_object);
        map.into_iter().flatten().filter_map(|(name, version)| Some((name.as_str(), version.as_str()?))).collect()
    }

    /// The maintainers' message when the version is deprecated.
    #[must_use]
    pub fn deprecated(&self) -> Option<&str> {
        self.manifest.get("deprecated").and_then(Value::as_str).filter(|text| !text.is_empty())
    }
}

impl Packument {
    /// The release that a version, a range or a tag means; `None` means the tag `latest`. A range prefers `latest` when that is in it, as
    /// npm does, and versions that are not deprecated.
    ///
    /// # Errors
    /// When there is no such version, or its entry is unusable.
    pub fn select(&self, package: &str, wanted: Option<&str>) -> Result<Release, RegistryError> {
        let wanted = wanted.unwrap_or("latest");
        let version = self.version_of(wanted).ok_or_else(|| self.no_such_version(package, wanted))?;
        let manifest = self.versions.get(version).ok_or_else(|| self.no_such_version(package, wanted))?;
        release(package, version, manifest)
    }

    fn version_of<'a>(&'a self, wanted: &'a str) -> Option<&'a str> {
        if self.versions.contains_key(wanted) {
            return Some(wanted);
        }
        if let Some(version) = self.dist_tags.get(wanted) {
            return Some(version);
        }
        let range = Range::parse(wanted)?;
        let inside = |version: &str| Version::parse(version).is_ok_and(|version| range.contains(&version));
        let latest =
            self.dist_tags.get("latest").map(String::as_str).filter(|version| self.versions.contains_key(*version) && inside(version));
        latest.or_else(|| self.newest_of(inside))
    }

    fn newest_of(&self, inside: impl Fn(&str) -> bool) -> Option<&str> {
        let rank = |(version, manifest): &(&String, &Value)| {
            let current = manifest.get("deprecated").is_none();
            (current, Version::parse(version).ok())
        };
        self.versions.iter().filter(|(version, _)| inside(version)).max_by_key(rank).map(|(version, _)| version.as_str())
    }

    fn no_such_version(&self, package: &str, wanted: &str) -> RegistryError {
        RegistryError::NoSuchVersion { package: package.to_owned(), wanted: wanted.to_owned(), nearest: self.nearest(wanted) }
    }

    /// Versions around the wanted one, else the newest ones, in descending order.
    fn nearest(&self, wanted: &str) -> Vec<String> {
        let mut versions: Vec<Version> = self.versions.keys().filter_map(|version| Version::parse(version).ok()).collect();
        versions.sort_by(|a, b| b.cmp(a));
        let first = Version::parse(wanted).ok().map_or(0, |wanted| versions.partition_point(|version| *version > wanted));
        let start = first.saturating_sub(NEAREST / 2).min(versions.len().saturating_sub(NEAREST));
        versions.iter().skip(start).take(NEAREST).map(Version::to_string).collect()
    }
}

fn release(package: &str, version: &str, manifest: &Value) -> Result<Release, RegistryError> {
    let malformed = |problem: &str| RegistryError::Malformed { url: format!("{package}@{version}"), problem: problem.to_owned() };
    let field = |name: &str| manifest.get("dist").and_then(|dist| dist.get(name)).and_then(Value::as_str);
    let tarball = field("tarball").ok_or_else(|| malformed("the registry gives no tarball address"))?;
    let integrity =
        Integrity::of_fields(field("integrity"), field("shasum")).ok_or_else(|| malformed("the registry gives no integrity hash"))?;
    Ok(Release {
        package: package.to_owned(),
        version: version.to_owned(),
        tarball: tarball.to_owned(),
        integrity,
        manifest: manifest.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ocsweep_proto::verdict::Reason;
    use serde_json::json;

    fn packument(versions: &[&str], latest: &str) -> Packument {
        let dist = json!({"tarball": "https://npm.example/x.tgz", "shasum": "a9993e364706816aba3e25717850c26c9cd0d89d"});
        let versions: serde_json::Map<String, Value> =
            versions.iter().map(|v| ((*v).to_owned(), json!({"version": v, "dist": dist}))).collect();
        serde_json::from_value(json!({"name": "x", "dist-tags": {"latest": latest, "next": "3.0.0-rc.1"}, "versions": versions})).unwrap()
    }

    #[test]
    fn selection() {
        let packument = packument(&["1.0.0", "1.9.0", "2.0.0", "2.1.0", "3.0.0-rc.1"], "2.0.0");
        let cases = [
            (None, Some("2.0.0")),
            (Some("latest"), Some("2.0.0")),
            (Some("next"), Some("3.0.0-rc.1")),
            (Some("1.0.0"), Some("1.0.0")),
            (Some("^1"), Some("1.9.0")),
            (Some("^2"), Some("2.0.0")),
            (Some("^2.1"), Some("2.1.0")),
            (Some("4"), None),
            (Some("beta"), None),
            (Some("1.0.1"), None),
        ];
        for (wanted, expected) in cases {
            assert_eq!(packument.select("x", wanted).ok().map(|release| release.version).as_deref(), expected, "{wanted:?}");
        }
    }

    #[test]
    fn a_missing_version_names_its_neighbours() {
        let packument = packument(&["1.18.30", "1.18.31", "1.18.32", "1.18.34", "1.18.35", "1.18.36", "1.18.37", "1.0.0"], "1.18.37");
        let error = packument.select("x", Some("1.18.33")).unwrap_err();
        assert_eq!(error.reason(), Reason::PackageNotFound);
        assert_eq!(error.to_string(), "package x has no version 1.18.33 (nearest: 1.18.35, 1.18.34, 1.18.32, 1.18.31, 1.18.30)");
    }

    #[test]
    fn a_deprecated_version_comes_last() {
        let mut packument = packument(&["1.0.0", "1.1.0"], "9.9.9");
        packument.versions.get_mut("1.1.0").unwrap()["deprecated"] = json!("broken");
        assert_eq!(packument.select("x", Some("^1")).unwrap().version, "1.0.0");
        assert_eq!(packument.select("x", Some("1.1.0")).unwrap().deprecated(), Some("broken"));
    }

    #[test]
    fn a_release_without_a_hash_is_unusable() {
        let mut packument = packument(&["1.0.0"], "1.0.0");
        packument.versions.get_mut("1.0.0").unwrap()["dist"]["shasum"] = json!("nonsense");
        assert!(matches!(packument.select("x", None), Err(RegistryError::Malformed { .. })));
    }
}

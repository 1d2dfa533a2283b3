//! What a `package.json` says that matters here. Pure; every field is a stranger's and may have any type.

use ocsweep_proto::axes::Line;
use serde_json::Value;

/// A `package.json` as it was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum PackageJson {
    /// There is none.
    #[default]
    Absent,
    /// Its object.
    Parsed(Value),
    /// It cannot be read as a JSON object.
    Invalid(String),
}

/// The package whose presence marks a plugin of the second line.
const V2_PACKAGE: &str = "@opencode/plugin";
const INSTALL_SCRIPTS: [&str; 3] = ["preinstall", "install", "postinstall"];

impl PackageJson {
    /// Reads the bytes of a file.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match serde_json::from_slice(bytes) {
            Ok(value @ Value::Object(_)) => Self::Parsed(value),
            Ok(_) => Self::Invalid("it is no object".to_owned()),
            Err(error) => Self::Invalid(error.to_string()),
        }
    }

    /// A field of the object.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Value> {
        match self {
            Self::Parsed(value) => value.get(name),
            Self::Absent | Self::Invalid(_) => None,
        }
    }

    /// A field that is a text with something in it.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.field(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    /// The package's name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.text("name")
    }

    /// `engines.opencode`.
    #[must_use]
    pub fn engine(&self) -> Option<&str> {
        self.field("engines").and_then(|engines| engines.get("opencode")).and_then(Value::as_str)
    }

    /// Whether the package is meant to be published under a name.
    #[must_use]
    pub(crate) fn is_published(&self) -> bool {
        self.name().is_some() && self.field("private") != Some(&Value::Bool(true))
    }

    /// The line that the dependencies show: the second one's plugin package is a sure mark, its absence is none.
    #[must_use]
    pub fn line(&self) -> Option<Line> {
        let kinds = ["dependencies", "peerDependencies", "devDependencies", "optionalDependencies"];
        kinds.iter().any(|kind| self.field(kind).is_some_and(|map| map.get(V2_PACKAGE).is_some())).then_some(Line::V2)
    }

    /// The install scripts that the package declares.
    #[must_use]
    pub(crate) fn install_scripts(&self) -> Vec<&'static str> {
        let scripts = self.field("scripts");
        INSTALL_SCRIPTS.into_iter().filter(|name| scripts.and_then(|scripts| scripts.get(name)).is_some_and(Value::is_string)).collect()
    }

    /// Whether an install script builds or downloads a native module.
    #[must_use]
    pub(crate) fn makes_native_module(&self) -> bool {
        let texts = INSTALL_SCRIPTS.iter().filter_map(|name| self.field("scripts")?.get(name)?.as_str());
        texts.into_iter().any(|text| ["node-gyp", "prebuild-install", "node-pre-gyp", "cmake-js"].iter().any(|tool| text.contains(tool)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_any_type() {
        let package =
            PackageJson::parse(b"\xef\xbb\xbf{\"name\": \" x \", \"main\": 3, \"engines\": [\"opencode\"], \"scripts\": {\"install\": 1}}");
        assert_eq!(package.name(), Some("x"));
        assert_eq!(package.text("main"), None);
        assert_eq!(package.engine(), None);
        assert!(package.install_scripts().is_empty());
        assert!(matches!(PackageJson::parse(b"[]"), PackageJson::Invalid(_)));
        assert!(matches!(PackageJson::parse(b"{"), PackageJson::Invalid(_)));
    }

    #[test]
    fn the_line_shows_in_the_dependencies() {
        let line = |text: &str| PackageJson::parse(text.as_bytes()).line();
        assert_eq!(line(r#"{"peerDependencies": {"@opencode/plugin": "^2"}}"#), Some(Line::V2));
        assert_eq!(line(r#"{"dependencies": {"@opencode-ai/plugin": "1.18.33"}}"#), None);
    }

    #[test]
    fn scripts_that_run_at_installation() {
        let package =
            PackageJson::parse(br#"{"scripts": {"postinstall": "x", "install": "prebuild-install || node-gyp rebuild", "test": "t"}}"#);
        assert_eq!(package.install_scripts(), ["install", "postinstall"]);
        assert!(package.makes_native_module());
        assert!(!PackageJson::parse(br#"{"scripts": {"test": "node-gyp"}}"#).makes_native_module());
    }
}

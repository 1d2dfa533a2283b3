//! Identifiers. Each is parsed once at the edge; after that its type says that it is a safe path segment and a safe label value.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::axes::Tier;
use crate::digest::{Builder, Digest};

/// Why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what} {text:?}: expected {rule}")]
pub struct IdError {
    what: &'static str,
    text: String,
    rule: &'static str,
}

/// Lowercase letters, digits and inner or trailing hyphens: `^[a-z0-9][a-z0-9-]*$`, at most 128 bytes.
pub const SLUG_RULE: &str = "^[a-z0-9][a-z0-9-]*$";

fn is_slug(text: &str) -> bool {
    let first_ok = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    first_ok && text.len() <= 128 && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

macro_rules! slug {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String", extend("pattern" = "^[a-z0-9][a-z0-9-]*$"))]
        pub struct $name(String);

        impl $name {
            /// Checks a text.
            ///
            /// # Errors
            /// When the text is not a slug.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                if is_slug(&text) { Ok(Self(text)) } else { Err(IdError { what: $what, text, rule: SLUG_RULE }) }
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

slug!(
    /// One run or sweep.
    SweepId, "sweep id"
);
slug!(
    /// A scenario's id, or the id of a case that the tool adds itself.
    ScenarioId, "scenario id"
);
slug!(
    /// The name of a variant.
    VariantName, "variant name"
);
slug!(
    /// The stable identity of a case: a hash of its axes, never a position.
    CaseId, "case id"
);

/// The id of the load case.
pub const LOAD: &str = "load";
/// The id of the case that runs a project's own tests.
pub const BUN_TEST: &str = "bun-test";
/// The variant that every cell has when nobody names one.
pub const DEFAULT_VARIANT: &str = "default";

impl ScenarioId {
    /// Ids that scenarios may not take, because the tool uses them for its own cases and directories.
    pub const RESERVED: [&'static str; 2] = [LOAD, BUN_TEST];

    /// The id of the load case.
    #[must_use]
    pub fn load() -> Self {
        Self(LOAD.to_owned())
    }

    /// The id of the case that runs a project's own tests.
    #[must_use]
    pub fn bun_test() -> Self {
        Self(BUN_TEST.to_owned())
    }
}

impl VariantName {
    /// The only variant of a run that names none.
    #[must_use]
    pub fn default_variant() -> Self {
        Self(DEFAULT_VARIANT.to_owned())
    }
}

/// What makes two cases the same case in two runs.
#[derive(Debug, Clone, Copy)]
pub struct CaseAxes<'a> {
    /// The subject's name (not its digest: a new revision is the same case with new inputs).
    pub subject: &'a str,
    /// The host version as it was asked for.
    pub opencode: &'a str,
    /// The variant.
    pub variant: &'a VariantName,
    /// The tier.
    pub tier: Tier,
    /// The scenario.
    pub scenario: &'a ScenarioId,
}

impl CaseId {
    /// The id of a case: readable scenario id, then twelve digits of the hash of all axes.
    #[must_use]
    pub fn of(axes: CaseAxes<'_>) -> Self {
        let mut builder = Builder::default();
        for field in [axes.subject, axes.opencode, axes.variant.as_str(), axes.tier.as_str(), axes.scenario.as_str()] {
            builder.field(field.as_bytes());
        }
        let digest: Digest = builder.finish();
        let readable: String = axes.scenario.as_str().chars().take(64).collect();
        Self(format!("{readable}-{}", digest.short()))
    }

    /// The id of the job that prepares a subject.
    #[must_use]
    pub fn prepare(subject: &str) -> Self {
        let mut builder = Builder::default();
        builder.field(b"prepare");
        builder.field(subject.as_bytes());
        Self(format!("prepare-{}", builder.finish().short()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_with_path_syntax_are_refused() {
        for text in ["", "-a", "A", "a/b", "..", ".", "a.b", "a\\b", "a b", "a\n", "ä", "a\0", &"a".repeat(129)] {
            assert!(ScenarioId::new(text).is_err(), "{text:?}");
        }
        for text in ["a", "0", "tool-before", "a-", &"a".repeat(128)] {
            assert!(ScenarioId::new(text).is_ok(), "{text:?}");
        }
    }

    fn case(subject: &str, opencode: &str, scenario: &str) -> CaseId {
        let variant = VariantName::default_variant();
        let scenario = ScenarioId::new(scenario).unwrap();
        CaseId::of(CaseAxes { subject, opencode, variant: &variant, tier: Tier::Scripted, scenario: &scenario })
    }

    #[test]
    fn every_axis_counts_and_borders_too() {
        assert_eq!(case("p", "1.0.0", "s"), case("p", "1.0.0", "s"));
        assert_ne!(case("p", "1.0.0", "s"), case("p", "1.0.1", "s"));
        assert_ne!(case("p", "1.0.0", "s"), case("q", "1.0.0", "s"));
        assert_ne!(case("p1", ".0.0", "s"), case("p", "1.0.0", "s"));
    }

    proptest! {
        #[test]
        fn an_accepted_id_is_a_safe_path_segment(text in "\\PC{0,12}") {
            if let Ok(id) = ScenarioId::new(text.clone()) {
                prop_assert!(id.as_str().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
                prop_assert!(!id.as_str().starts_with('-'));
            }
        }

        #[test]
        fn a_case_id_is_itself_a_slug(subject in "\\PC{0,40}", scenario in "[a-z0-9][a-z0-9-]{0,100}") {
            let id = case(&subject, "latest", &scenario);
            prop_assert!(CaseId::new(id.as_str()).is_ok());
        }
    }
}

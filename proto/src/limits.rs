//! Limits and deadlines of a case. Reaching one is a reason of its own, never a silent cut.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const MIB: u64 = 1024 * 1024;

macro_rules! limits {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $default:expr, at least $min:expr;)*) => {
        /// Limits of one case container, all in force at once.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct Limits { $($(#[$doc])* pub $name: $type,)* }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        /// The limits that a configuration sets; what is absent keeps its default.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        pub struct LimitOverrides {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] #[schemars(range(min = $min))] pub $name: Option<$type>,)*
        }

        impl LimitOverrides {
            /// The names of all limits, as they are written in a configuration.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name),)*];

            /// The smallest value of a limit by its name in [`LimitOverrides::NAMES`]: with less, not even an empty plugin can run. 1 for an
            /// unknown name.
            #[must_use]
            pub fn minimum(name: &str) -> u64 {
                $(if name == stringify!($name) { return $min; })*
                1
            }

            /// The defaults with these overrides.
            #[must_use]
            pub fn resolve(&self) -> Limits {
                let defaults = Limits::default();
                Limits { $($name: self.$name.unwrap_or(defaults.$name),)* }
            }
        }
    };
}

limits! {
    /// Memory of the container, tmpfs included, in bytes. The host alone peaks at 380 to 600 MB.
    memory_bytes: u64 = 1536 * MIB, at least 128 * MIB;
    /// Size of HOME, in bytes.
    home_bytes: u64 = 128 * MIB, at least 8 * MIB;
    /// Size of TMPDIR, in bytes.
    tmp_bytes: u64 = 128 * MIB, at least 8 * MIB;
    /// Size of the project directory, in bytes.
    project_bytes: u64 = 256 * MIB, at least MIB;
    /// Processes and threads.
    pids: u64 = 512, at least 32;
    /// Open files of one process.
    nofile: u64 = 4096, at least 64;
    /// Bytes kept of each of standard output, standard error and the probe channels.
    stream_bytes: u64 = 16 * MIB, at least 1024;
    /// Start to the first sign of life, in milliseconds.
    start_ms: u64 = 120_000, at least 1;
    /// One plugin's own import, factory or config hook, in milliseconds, counted only while it is pending.
    init_ms: u64 = 30_000, at least 1;
    /// Silence of the host, in milliseconds.
    no_output_ms: u64 = 120_000, at least 1;
    /// A load case in all, in milliseconds.
    load_ms: u64 = 180_000, at least 1;
    /// Installation and build of a subject, in milliseconds.
    prepare_ms: u64 = 600_000, at least 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_replace_only_what_they_name() {
        let overrides: LimitOverrides = serde_json::from_str(r#"{"memoryBytes": 1048576}"#).unwrap();
        assert_eq!(overrides.resolve(), Limits { memory_bytes: 1_048_576, ..Limits::default() });
    }

    #[test]
    fn every_default_is_above_its_minimum() {
        let defaults = serde_json::to_value(Limits::default()).unwrap();
        for name in LimitOverrides::NAMES {
            let camel = name.split('_').enumerate().fold(String::new(), |text, (at, word)| {
                text + &if at == 0 { word.to_owned() } else { word[..1].to_uppercase() + &word[1..] }
            });
            assert!(defaults[&camel].as_u64().unwrap() >= LimitOverrides::minimum(name), "{name}");
        }
        assert_eq!(LimitOverrides::minimum("pids"), 32);
    }

    #[test]
    fn an_unknown_limit_is_an_error() {
        assert!(serde_json::from_str::<LimitOverrides>(r#"{"memory": 1}"#).is_err());
    }
}

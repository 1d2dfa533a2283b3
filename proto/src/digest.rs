//! Content digests. A digest names immutable content; it is never computed from times, names of machines or positions.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// `sha256:` and 64 lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^sha256:[0-9a-f]{64}$"))]
pub struct Digest(String);

const PREFIX: &str = "sha256:";

impl Digest {
    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut builder = Builder::default();
        builder.update(bytes);
        builder.finish()
    }

    /// The digest of a value's JSON form. Callers pass types whose field order is fixed.
    ///
    /// # Errors
    /// When the value cannot be written as JSON.
    pub fn of_json<T: Serialize>(value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self::of(&serde_json::to_vec(value)?))
    }

    /// The 64 hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.0[PREFIX.len()..]
    }

    /// The first twelve digits: enough for names that people read.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.hex()[..12]
    }

    /// `sha256:…`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let digits = text.strip_prefix(PREFIX).unwrap_or_default();
        let valid = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if valid { Ok(Self(text)) } else { Err(format!("not a sha256 digest: {text:?}")) }
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

/// A digest of content that arrives in pieces.
#[derive(Debug, Default)]
pub struct Builder(Sha256);

impl Builder {
    /// Adds bytes as they are.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds bytes behind their length, so that the borders of fields are part of the digest.
    pub fn field(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }

    /// Ends the computation.
    #[must_use]
    pub fn finish(self) -> Digest {
        let mut text = String::with_capacity(PREFIX.len() + 64);
        text.push_str(PREFIX);
        for byte in self.0.finalize() {
            for nibble in [byte >> 4, byte & 15] {
                text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
            }
        }
        Digest(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_value_and_round_trip() {
        let digest = Digest::of(b"abc");
        assert_eq!(digest.as_str(), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Digest::try_from(digest.to_string()).unwrap(), digest);
    }

    #[test]
    fn fields_keep_their_borders() {
        let of = |fields: &[&str]| {
            let mut builder = Builder::default();
            fields.iter().for_each(|field| builder.field(field.as_bytes()));
            builder.finish()
        };
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in
            ["", "sha256:", "sha256:XYZ", "md5:ba7816bf", &format!("sha256:{}", "A".repeat(64)), &format!("sha256:{}/", "a".repeat(63))]
        {
            assert!(Digest::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}

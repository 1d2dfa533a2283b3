//! Integrity hashes of packages: the `integrity` field (SRI), else the old `shasum`. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha384, Sha512};

/// The hash that a package must have. Several of the same strength mean: any of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integrity {
    algorithm: Algorithm,
    accepted: Vec<Vec<u8>>,
}

/// In order of strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Algorithm {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    const ALL: [(&'static str, Self, usize); 4] =
        [("sha1", Self::Sha1, 20), ("sha256", Self::Sha256, 32), ("sha384", Self::Sha384, 48), ("sha512", Self::Sha512, 64)];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, algorithm, _)| *algorithm == self).map_or("", |(name, _, _)| name)
    }
}

impl Integrity {
    /// The strongest hash of an `integrity` field, else the one of `shasum`. `None`: neither can be used.
    #[must_use]
    pub fn of_fields(sri: Option<&str>, shasum: Option<&str>) -> Option<Self> {
        sri.and_then(Self::parse_sri).or_else(|| shasum.and_then(Self::parse_shasum))
    }

    fn parse_sri(text: &str) -> Option<Self> {
        let hashes: Vec<(Algorithm, Vec<u8>)> = text.split_whitespace().filter_map(parse_one).collect();
        let algorithm = hashes.iter().map(|(algorithm, _)| *algorithm).max()?;
        let accepted = hashes.into_iter().filter(|(a, _)| *a == algorithm).map(|(_, hash)| hash).collect();
        Some(Self { algorithm, accepted })
    }

    fn parse_shasum(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() != 40 || !text.is_ascii() {
            return None;
        }
        let hash: Result<Vec<u8>, _> = (0..20).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16)).collect();
        Some(Self { algorithm: Algorithm::Sha1, accepted: vec![hash.ok()?] })
    }

    /// Starts hashing a download.
    #[must_use]
    pub fn check(&self) -> Check<'_> {
        let state = match self.algorithm {
            Algorithm::Sha1 => State::Sha1(Sha1::default()),
            Algorithm::Sha256 => State::Sha256(Sha256::default()),
            Algorithm::Sha384 => State::Sha384(Sha384::default()),
            Algorithm::Sha512 => State::Sha512(Sha512::default()),
        };
        Check { wanted: self, state }
    }
}

fn parse_one(text: &str) -> Option<(Algorithm, Vec<u8>)> {
    let (name, hash) = text.split_once('-')?;
    let (_, algorithm, length) = Algorithm::ALL.iter().find(|(known, _, _)| *known == name)?;
    let hash = STANDARD.decode(hash.split('?').next()?).ok()?;
    (hash.len() == *length).then_some((*algorithm, hash))
}

impl std::fmt::Display for Integrity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let first = self.accepted.first().map(|hash| STANDARD.encode(hash)).unwrap_or_default();
        write!(f, "{}-{first}", self.algorithm.name())
    }
}

/// A download that is being hashed.
#[derive(Debug)]
pub struct Check<'a> {
    wanted: &'a Integrity,
    state: State,
}

#[derive(Debug)]
enum State {
    Sha1(Sha1),
    Sha256(Sha256),
    Sha384(Sha384),
    Sha512(Sha512),
}

impl Check<'_> {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Sha1(state) => state.update(bytes),
            State::Sha256(state) => state.update(bytes),
            State::Sha384(state) => state.update(bytes),
            State::Sha512(state) => state.update(bytes),
        }
    }

    /// Whether all bytes together are the announced ones.
    #[must_use]
    pub fn holds(self) -> bool {
        let found = match self.state {
            State::Sha1(state) => state.finalize().to_vec(),
            State::Sha256(state) => state.finalize().to_vec(),
            State::Sha384(state) => state.finalize().to_vec(),
            State::Sha512(state) => state.finalize().to_vec(),
        };
        self.wanted.accepted.contains(&found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC_SHA1: &str = "a9993e364706816aba3e25717850c26c9cd0d89d";
    const ABC_SHA512: &str = "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==";
    const ABC_SHA256: &str = "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=";

    fn holds(sri: Option<&str>, shasum: Option<&str>, bytes: &[u8]) -> Option<bool> {
        let integrity = Integrity::of_fields(sri, shasum)?;
        let mut check = integrity.check();
        bytes.chunks(2).for_each(|chunk| check.update(chunk));
        Some(check.holds())
    }

    #[test]
    fn known_hashes() {
        let other = format!("sha512-{}", STANDARD.encode([7_u8; 64]));
        let both = format!("{other} {ABC_SHA512}?opt");
        let weak_right_strong_wrong = format!("{ABC_SHA256} {other}");
        let cases: &[(Option<&str>, Option<&str>, Option<bool>)] = &[
            (Some(ABC_SHA512), None, Some(true)),
            (Some(ABC_SHA256), None, Some(true)),
            (None, Some(ABC_SHA1), Some(true)),
            (Some(&other), Some(ABC_SHA1), Some(false)),
            (Some(&both), None, Some(true)),
            (Some(&weak_right_strong_wrong), None, Some(false)),
            (Some("sha512-AAAA"), Some(ABC_SHA1), Some(true)),
            (Some("md5-AAAA"), None, None),
            (Some(""), Some(""), None),
            (None, None, None),
            (None, Some(&"é".repeat(20)), None),
        ];
        for (sri, shasum, expected) in cases {
            assert_eq!(holds(*sri, *shasum, b"abc"), *expected, "{sri:?} {shasum:?}");
        }
        assert_eq!(holds(Some(ABC_SHA512), None, b"abd"), Some(false));
        assert_eq!(Integrity::of_fields(Some(ABC_SHA512), None).unwrap().to_string(), ABC_SHA512);
    }
}

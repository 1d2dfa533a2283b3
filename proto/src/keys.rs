//! Keys of the store. Every segment is a validated identifier or a digest, so a key can never climb out of its prefix.

use crate::ids::{CaseId, DEFAULT_VARIANT, ScenarioId, SweepId, VariantName};

/// The record of one attempt of a case.
#[must_use]
pub fn outcome(sweep: &SweepId, case: &CaseId, attempt: u32) -> String {
    format!("{}/{attempt}.json", outcomes_of(sweep, case))
}

/// The prefix of all records of a case.
#[must_use]
pub fn outcomes_of(sweep: &SweepId, case: &CaseId) -> String {
    format!("{}/outcomes/{case}", run(sweep))
}

/// The prefix of everything that belongs to one run.
#[must_use]
pub fn run(sweep: &SweepId) -> String {
    format!("sweeps/{sweep}")
}

/// The directory of a case's evidence in a local run: `<version>/<case>`, with `@<variant>` between them for a named variant.
#[must_use]
pub fn evidence(opencode: &crate::axes::VersionWord, variant: &VariantName, case: &ScenarioId) -> String {
    if variant.as_str() == DEFAULT_VARIANT { format!("{opencode}/{case}") } else { format!("{opencode}/@{variant}/{case}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_variant_has_no_directory_of_its_own() {
        let case = ScenarioId::load();
        let word = "1.18.33".parse().unwrap();
        assert_eq!(evidence(&word, &VariantName::default_variant(), &case), "1.18.33/load");
        assert_eq!(evidence(&word, &VariantName::new("musl").unwrap(), &case), "1.18.33/@musl/load");
    }
}

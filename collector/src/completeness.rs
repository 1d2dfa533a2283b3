//! The proof that nothing was lost: every planned case is accounted for as exactly one of done, skipped and indeterminate.
//!
//! Pure. It must never make up a row for a case that is missing.

use std::collections::{BTreeMap, BTreeSet};

use ocsweep_proto::ids::CaseId;
use ocsweep_proto::row::{CaseRow, Completeness};
use ocsweep_proto::verdict::Verdict;

/// Compares the plan with the rows. A case that is planned twice is one case.
pub fn prove<'a>(planned: impl IntoIterator<Item = &'a CaseId>, rows: &BTreeMap<CaseId, CaseRow>) -> Completeness {
    let planned: BTreeSet<&CaseId> = planned.into_iter().collect();
    let mut proof = Completeness { planned: planned.len() as u64, ..Completeness::default() };
    for case in &planned {
        match rows.get(*case).map(|row| row.verdict) {
            Some(Verdict::Pass | Verdict::Fail) => proof.done += 1,
            Some(Verdict::Skipped) => proof.skipped += 1,
            Some(Verdict::Indeterminate) => proof.indeterminate += 1,
            None => proof.missing.push(case.to_string()),
        }
    }
    proof.unplanned = rows.keys().filter(|case| !planned.contains(case)).map(CaseId::to_string).collect();
    proof
}

/// Whether the plan and the rows are the same cases.
#[must_use]
pub fn is_complete(proof: &Completeness) -> bool {
    proof.missing.is_empty() && proof.unplanned.is_empty() && proof.planned == proof.done + proof.skipped + proof.indeterminate
}

#[cfg(test)]
mod tests {
    use ocsweep_proto::verdict::Reason;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::load;

    fn case(n: usize) -> CaseId {
        CaseId::new(format!("case-{n}")).unwrap()
    }

    #[test]
    fn missing_and_unplanned_cases_are_named() {
        let planned = [case(1), case(2), case(3), case(4), case(1)];
        let rows = BTreeMap::from([
            (case(1), load("v1", None)),
            (case(2), load("v1", Some(Reason::NoKey))),
            (case(3), load("v1", Some(Reason::Docker))),
            (case(9), load("v1", None)),
        ]);
        let proof = prove(&planned, &rows);
        assert_eq!((proof.planned, proof.done, proof.skipped, proof.indeterminate), (4, 1, 1, 1));
        assert_eq!((proof.missing.as_slice(), proof.unplanned.as_slice()), (&["case-4".to_owned()][..], &["case-9".to_owned()][..]));
        assert!(!is_complete(&proof));
    }

    proptest! {
        #[test]
        fn the_numbers_always_add_up(planned in proptest::collection::vec(0_usize..12, 0..12), known in proptest::collection::btree_map(0_usize..12, 0_usize..4, 0..12)) {
            let reasons = [None, Some(Reason::Assertion), Some(Reason::NoKey), Some(Reason::Docker)];
            let rows: BTreeMap<CaseId, CaseRow> = known.iter().map(|(&n, &reason)| (case(n), load("v1", reasons[reason]))).collect();
            let planned: Vec<CaseId> = planned.into_iter().map(case).collect();
            let proof = prove(&planned, &rows);
            prop_assert_eq!(proof.planned, proof.done + proof.skipped + proof.indeterminate + proof.missing.len() as u64);
            prop_assert_eq!(rows.len() as u64, proof.done + proof.skipped + proof.indeterminate + proof.unplanned.len() as u64);
            let same = planned.iter().collect::<BTreeSet<_>>() == rows.keys().collect::<BTreeSet<_>>();
            prop_assert_eq!(is_complete(&proof), same);
        }
    }
}

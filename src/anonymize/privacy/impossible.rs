//! Demands that no policy whatever can meet, told from counts alone.

use std::collections::BTreeMap;

use super::{entropy_l_diversity, maximum_risk};
use crate::anonymize::report::Reason;
use crate::declaration::{MissingSensitive, PrivacyModel};

/// Why no policy whatever can meet the models, known from counts alone and so before any search.
///
/// `subjects` is the number of distinct subjects where one is declared; `distinct_values` the number of distinct
/// non-missing values of each sensitive attribute. An attribute that is not named there decides nothing.
#[must_use]
pub fn impossible(
    privacy: &[PrivacyModel],
    rows: u64,
    subjects: Option<u64>,
    distinct_values: &BTreeMap<String, u64>,
) -> Option<Reason> {
    privacy.iter().find_map(|model| match model {
        PrivacyModel::KAnonymity { k } | PrivacyModel::AlphaK { k, .. } => {
            too_large(&format!("k = {k}"), *k, rows, subjects)
        }
        // The class of all rows has the least risk of all, and the least mean.
        PrivacyModel::AverageRisk { max } | PrivacyModel::MaximumRisk { max } => {
            let size = maximum_risk::least_size(*max);
            let asked = format!("a risk of at most {} (classes of {size})", max.to_f64());
            too_large(&asked, size, rows, subjects)
        }
        // A class without any value passes, so a table with missing cells may still have a policy.
        PrivacyModel::DistinctLDiversity { missing, .. }
        | PrivacyModel::EntropyLDiversity { missing, .. }
        | PrivacyModel::RecursiveClDiversity { missing, .. }
            if *missing == MissingSensitive::Exempt =>
        {
            None
        }
        PrivacyModel::DistinctLDiversity { attribute, l, .. }
        | PrivacyModel::RecursiveClDiversity { attribute, l, .. } => {
            too_diverse(&l.to_string(), *l, attribute, distinct_values)
        }
        PrivacyModel::EntropyLDiversity { attribute, l, .. } => {
            let least = entropy_l_diversity::least_distinct(*l);
            too_diverse(&l.to_string(), least, attribute, distinct_values)
        }
        // What a population holds is not counted here; the class of all rows is distributed like the table.
        PrivacyModel::KMap { .. }
        | PrivacyModel::DeltaPresence { .. }
        | PrivacyModel::TCloseness { .. }
        | PrivacyModel::DeltaDisclosure { .. }
        | PrivacyModel::BetaLikeness { .. } => None,
    })
}

fn too_large(asked: &str, size: u64, rows: u64, subjects: Option<u64>) -> Option<Reason> {
    let (count, code, what) = match subjects {
        Some(subjects) if subjects < size && size <= rows => {
            (subjects, "k_exceeds_subjects", "subjects")
        }
        _ => (rows, "k_exceeds_rows", "rows"),
    };
    (size > count).then(|| Reason {
        code: code.to_owned(),
        detail: format!("{asked} asks for more than the {count} {what} of the dataset"),
    })
}

fn too_diverse(
    asked: &str,
    least: u64,
    attribute: &str,
    distinct_values: &BTreeMap<String, u64>,
) -> Option<Reason> {
    let distinct = *distinct_values.get(attribute)?;
    (least > distinct).then(|| Reason {
        code: "l_exceeds_distinct_values".to_owned(),
        detail: format!(
            "l = {asked} asks for more than the {distinct} distinct values of `{attribute}` in the dataset"
        ),
    })
}

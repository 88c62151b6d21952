//! What a release of sampled rows must not show beside them.

use crate::declaration::{
    Demand, Identifiers, Perturbation, ReleaseDemand, RowOrder, SuppressedRows,
};
use crate::fault::{Fault, FaultCode};

/// Everything in a release demand that is outside the guarantee of a sample: it covers the recoded rows as a heap, not
/// who they are, where they stood or how many were left out.
pub(super) fn refuse_beside_sample(demand: &Demand, release: &ReleaseDemand) -> Vec<Fault> {
    if !matches!(demand.perturbation, Some(Perturbation::SafePub { .. })) {
        return Vec::new();
    }
    let checks = [
        (
            release.identifiers == Identifiers::Token,
            "/identifiers",
            "tokens tell persons apart, which `safepub` does not cover",
        ),
        (
            release.row_order == RowOrder::Input,
            "/row_order",
            "the order of the input tells of rows that were not drawn, which `safepub` does not cover",
        ),
        (
            release.suppressed_rows == SuppressedRows::Mask,
            "/suppressed_rows",
            "masked rows tell how many were left out, which `safepub` does not cover",
        ),
    ];
    let refused = checks.into_iter().filter(|(is_asked, ..)| *is_asked);
    refused
        .map(|(_, pointer, detail)| Fault::at(pointer, FaultCode::NotSupported, detail))
        .collect()
}

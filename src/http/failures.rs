//! Which failures an operation documents; each refers to the one problem response.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{Ref, RefOr, Response as ResponseDoc};

/// Name of the one response component that every failure refers to.
pub(super) const COMPONENT: &str = "Problem";

fn documented(statuses: &[&str]) -> BTreeMap<String, RefOr<ResponseDoc>> {
    statuses
        .iter()
        .map(|&status| {
            let reference = Ref::new(format!("#/components/responses/{COMPONENT}"));
            (status.to_owned(), RefOr::Ref(reference))
        })
        .collect()
}

/// What can go wrong with a request that only reads.
#[derive(Debug)]
pub(super) struct ReadFailures;

impl IntoResponses for ReadFailures {
    fn responses() -> BTreeMap<String, RefOr<ResponseDoc>> {
        documented(&["404", "405", "422", "500", "503"])
    }
}

/// What can go wrong with a download in one of several forms.
#[derive(Debug)]
pub(super) struct DownloadFailures;

impl IntoResponses for DownloadFailures {
    fn responses() -> BTreeMap<String, RefOr<ResponseDoc>> {
        documented(&["404", "405", "406", "409", "422", "500", "503"])
    }
}

/// What can go wrong with a request that has a body or an effect.
#[derive(Debug)]
pub(super) struct WriteFailures;

impl IntoResponses for WriteFailures {
    fn responses() -> BTreeMap<String, RefOr<ResponseDoc>> {
        documented(&[
            "400", "404", "405", "408", "409", "413", "415", "422", "500", "503",
        ])
    }
}

//! Why an attempt has no answer, as the job tells it.

use crate::anonymize;
use crate::job::JobFailure;
use crate::publish;
use crate::store::{self, Finish};
use crate::telemetry::chain;

/// Why an attempt has no answer.
pub(super) struct Failed {
    pub(super) code: &'static str,
    pub(super) detail: String,
    is_retryable: bool,
}

impl Failed {
    pub(super) fn internal(detail: &str, is_retryable: bool) -> Self {
        Self {
            code: "internal",
            detail: detail.to_owned(),
            is_retryable,
        }
    }

    pub(super) fn final_one(code: &'static str, detail: String) -> Self {
        Self {
            code,
            detail,
            is_retryable: false,
        }
    }

    pub(super) fn finish(self) -> Finish {
        Finish::Failed {
            failure: JobFailure {
                code: self.code.to_owned(),
                detail: self.detail,
            },
            retryable: self.is_retryable,
        }
    }

    pub(super) fn from_search(error: &anonymize::Error) -> Self {
        Self::final_one(error.code(), error.to_string())
    }

    pub(super) fn from_store(error: store::Error) -> Self {
        match error {
            store::Error::NotFound("population") => Self::final_one(
                "population_gone",
                "a dataset that holds a population was deleted".to_owned(),
            ),
            store::Error::NotFound(_) => {
                Self::final_one("dataset_gone", "the dataset was deleted".to_owned())
            }
            store::Error::Sealed(_) => Self::internal("stored data could not be opened", false),
            store::Error::Form(_) => Self::internal("stored data has an unknown form", false),
            error => {
                tracing::warn!(error = chain(&error), "the rows could not be read");
                Self::internal("the rows could not be read", true)
            }
        }
    }

    pub(super) fn from_release(error: publish::Error, attempt: u32) -> Self {
        match error {
            publish::Error::Verification(failure) => {
                Self::final_one("verification_failed", failure.to_string())
            }
            publish::Error::Render(error) => Self::from_search(&error),
            publish::Error::Store(error) => Self::from_store(error),
            publish::Error::Panicked(_) => Self::internal("the release panicked", attempt < 2),
            // No columns are named, so none can be wrong.
            publish::Error::Faults(_) => {
                Self::internal("the release could not be made as asked", false)
            }
        }
    }
}

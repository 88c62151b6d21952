//! What a demand on classes comes to where it leaves things open.

use super::{
    Demand, MissingSensitive, PrivacyModel, Recoding, Representation, Search, SearchMethod,
};

impl Demand {
    /// What released rows bear: as asked, else sets for `local` and centroids for `microaggregation`.
    #[must_use]
    pub fn representation(&self) -> Representation {
        self.representation.unwrap_or(match self.recoding {
            Recoding::Microaggregation => Representation::Centroids,
            _ => Representation::Sets,
        })
    }

    /// The least rows that any class can have which meets all models, as far as sizes and numbers of values tell; at least 1.
    #[must_use]
    pub fn least_rows(&self) -> u64 {
        let least = |model: &PrivacyModel| match model {
            PrivacyModel::KAnonymity { k } | PrivacyModel::AlphaK { k, .. } => *k,
            PrivacyModel::MaximumRisk { max } | PrivacyModel::AverageRisk { max } => {
                max.least_inverse().unwrap_or(u64::MAX)
            }
            PrivacyModel::DistinctLDiversity { l, missing, .. }
            | PrivacyModel::RecursiveClDiversity { l, missing, .. }
                if *missing == MissingSensitive::Fails =>
            {
                *l
            }
            _ => 1,
        };
        self.privacy.iter().map(least).max().unwrap_or(1).max(1)
    }
}

impl Search {
    /// The method that runs for classes.
    #[must_use]
    pub fn method_for_classes(&self, recoding: Recoding) -> SearchMethod {
        match (self.method, recoding) {
            (SearchMethod::Auto, Recoding::Microaggregation) => SearchMethod::MoObam,
            (SearchMethod::Auto, _) => SearchMethod::Mondrian,
            (method, _) => method,
        }
    }
}

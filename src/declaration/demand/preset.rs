//! Named sets of defaults for sharing classes (algorithms.md B.6).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::clusters::ClusterSettings;
use super::{Lambda, Lambdas, Optimizer, PrivacyModel, Recoding, SearchMethod};
use crate::declaration::cursor::Cursor;
use crate::declaration::object::Object;
use crate::declaration::words::Words;
use crate::fault::{Fault, FaultCode, Faults};

/// What a release of classes is for. Adds its k and its `search.lambdas` where none are asked for, refuses what contradicts
/// it, and accepts no solution with more homogeneity than it allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// k from 10 to 20 (10 if absent), weights of at least 2 (2 and 5), no class of one sensitive value.
    ResearchSharing,
    /// k from 5 to 10 (5), weights 0.5, 1 and 2, at most 5 % of the rows in classes of one sensitive value.
    OutsourcedModelling,
    /// k from 3 to 5 (3), weights from 0.1 to 0.5 (0.1 and 0.5).
    DevTest,
}

const PRESETS: Words<Preset> = Words {
    noun: "preset",
    legal: &[
        ("research_sharing", Preset::ResearchSharing),
        ("outsourced_modelling", Preset::OutsourcedModelling),
        ("dev_test", Preset::DevTest),
    ],
    planned: &[],
};

impl Preset {
    /// Least and greatest k; the least is the default.
    fn sizes(self) -> [u64; 2] {
        match self {
            Self::ResearchSharing => [10, 20],
            Self::OutsourcedModelling => [5, 10],
            Self::DevTest => [3, 5],
        }
    }

    fn usual_lambdas(self) -> &'static [f64] {
        match self {
            Self::ResearchSharing => &[2.0, 5.0],
            Self::OutsourcedModelling => &[0.5, 1.0, 2.0],
            Self::DevTest => &[0.1, 0.5],
        }
    }

    /// Least and greatest weight that do not contradict it.
    fn lambdas(self) -> [f64; 2] {
        match self {
            Self::ResearchSharing => [2.0, f64::INFINITY],
            Self::OutsourcedModelling => [0.0, f64::INFINITY],
            Self::DevTest => [0.1, 0.5],
        }
    }

    /// Greatest share of rows in classes of one sensitive value, or none, that a solution may have.
    #[must_use]
    pub fn most_homogeneity(self) -> f64 {
        match self {
            Self::ResearchSharing => 0.0,
            Self::OutsourcedModelling => 0.05,
            Self::DevTest => 1.0,
        }
    }

    /// Adds its k where no k is asked for, and its weights where a search by weights names none.
    pub(super) fn fill(
        self,
        privacy: &mut Vec<PrivacyModel>,
        settings: &mut ClusterSettings,
        method: SearchMethod,
    ) {
        let is_k = |model: &PrivacyModel| matches!(model, PrivacyModel::KAnonymity { .. });
        if !privacy.iter().any(is_k) {
            let [k, _] = self.sizes();
            privacy.push(PrivacyModel::KAnonymity { k });
        }
        let is_weighted =
            method == SearchMethod::MoObam && settings.optimizer != Some(Optimizer::Nsga2);
        if is_weighted && settings.lambdas.is_none() {
            let usual = self.usual_lambdas().iter();
            let usual = usual.map(|&weight| Lambda::All(weight)).collect();
            settings.lambdas = Some(Lambdas::Grid(usual));
        }
    }

    /// Refuses what contradicts it; `sensitive` is the number of sensitive attributes.
    pub(super) fn check(
        self,
        privacy: &[PrivacyModel],
        settings: &ClusterSettings,
        sensitive: usize,
        faults: &mut Faults,
    ) {
        let [least, most] = self.sizes();
        let sizes = privacy.iter().enumerate();
        for (index, model) in sizes {
            let PrivacyModel::KAnonymity { k } = model else {
                continue;
            };
            if !(least..=most).contains(k) {
                let detail = format!("the preset stands for k from {least} to {most}");
                let place = format!("/privacy/{index}/k");
                faults.push(Fault::at(place, FaultCode::OutOfRange, detail));
            }
        }
        let [low, high] = self.lambdas();
        let is_outside = |lambda: &Lambda| match lambda {
            Lambda::All(weight) => !(low..=high).contains(weight),
            // Those that are not named weigh nothing.
            Lambda::Each(weights) => {
                let is_short = low > 0.0 && weights.len() < sensitive;
                let mut weights = weights.values();
                is_short || weights.any(|weight| !(low..=high).contains(weight))
            }
        };
        let wrong = match &settings.lambdas {
            None => false,
            Some(Lambdas::One(lambda)) => is_outside(lambda),
            Some(Lambdas::Grid(lambdas)) => lambdas.iter().any(is_outside),
        };
        if wrong {
            let detail = if high.is_finite() {
                format!("the preset stands for weights from {low} to {high}")
            } else {
                format!("the preset stands for weights of at least {low}")
            };
            faults.push(Fault::at("/search/lambdas", FaultCode::OutOfRange, detail));
        }
    }
}

/// The preset of a demand.
pub(super) fn preset(
    demand: &Object<'_>,
    recoding: Recoding,
    faults: &mut Faults,
) -> Option<Preset> {
    let cursor: Cursor<'_> = demand.optional("preset")?;
    if !recoding.has_classes() {
        let detail = "`preset` goes with `recoding`: `local` and `microaggregation`";
        faults.push(cursor.fault(FaultCode::UnknownField, detail));
    }
    cursor.word(&PRESETS, faults)
}

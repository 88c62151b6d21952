//! From models as asked for to rules over the rows of a task.

use std::sync::Arc;

use super::alpha_k::AlphaK;
use super::average_risk::AverageRisk;
use super::beta_likeness::BetaLikeness;
use super::delta_disclosure::DeltaDisclosure;
use super::delta_presence::{AtMost, DeltaPresence, Everywhere};
use super::distinct_l_diversity::DistinctLDiversity;
use super::entropy_l_diversity::{self, EntropyLDiversity};
use super::k_anonymity::KAnonymity;
use super::k_map::KMap;
use super::recursive_cl_diversity::RecursiveClDiversity;
use super::t_closeness::{Closeness, Ground};
use super::{Criterion, Judging, Rule, maximum_risk};
use crate::anonymize::cells::Needs;
use crate::anonymize::classes::ClassView;
use crate::anonymize::classes::histograms::Histograms;
use crate::anonymize::distribution::{AbsentValues, Reference};
use crate::anonymize::order::Ranks;
use crate::anonymize::rows::{Rows, SensitiveColumn};
use crate::anonymize::table::MISSING;
use crate::declaration::{
    self, DisclosureMode, Distance, Fraction, MissingSensitive, PrivacyModel,
};

/// Subjects are counted to the last one.
const ALL_SUBJECTS: u64 = u32::MAX as u64;

/// The rule of a model; adds to `needs` what it needs of every class.
pub(super) fn rule(model: &PrivacyModel, rows: &Rows<'_>, needs: &mut Needs) -> Rule {
    match model {
        PrivacyModel::KAnonymity { k } => size(*k, needs),
        PrivacyModel::MaximumRisk { max } => size(maximum_risk::least_size(*max), needs),
        PrivacyModel::AverageRisk { max } => {
            needs.subjects = ALL_SUBJECTS;
            Rule::Table(Arc::new(AverageRisk {
                max: *max,
                by_subject: rows.subjects.is_some(),
            }))
        }
        PrivacyModel::KMap { k, population } => match rows.population_slot(*population) {
            None => Rule::Class(Arc::new(Nothing)),
            Some(slot) => Rule::Class(Arc::new(KMap { slot, k: *k })),
        },
        PrivacyModel::DeltaPresence {
            min,
            max,
            population,
        } => match rows.population_slot(*population) {
            None => Rule::Class(Arc::new(Nothing)),
            Some(slot) => {
                needs.subjects = ALL_SUBJECTS;
                presence(slot, *min, *max, rows)
            }
        },
        PrivacyModel::DistinctLDiversity { attribute, .. }
        | PrivacyModel::EntropyLDiversity { attribute, .. }
        | PrivacyModel::RecursiveClDiversity { attribute, .. }
        | PrivacyModel::TCloseness { attribute, .. }
        | PrivacyModel::DeltaDisclosure { attribute, .. }
        | PrivacyModel::BetaLikeness { attribute, .. }
        | PrivacyModel::AlphaK { attribute, .. } => match rows.sensitive_slot(attribute) {
            None => Rule::Class(Arc::new(Nothing)),
            Some(slot) => {
                let sensitive = Sensitive::new(slot, rows);
                sensitive.rule(model, needs)
            }
        },
    }
}

fn size(k: u64, needs: &mut Needs) -> Rule {
    needs.subjects = needs.subjects.max(k);
    Rule::Class(Arc::new(KAnonymity { k }))
}

fn presence(slot: usize, min: Fraction, max: Fraction, rows: &Rows<'_>) -> Rule {
    let is_additive = rows.subjects.is_none() && rows.populations[slot].subjects.is_none();
    let presence = DeltaPresence {
        slot,
        min,
        max,
        additive: is_additive,
    };
    if min == Fraction::ZERO {
        Rule::Class(Arc::new(AtMost(presence)))
    } else {
        Rule::Table(Arc::new(Everywhere(presence)))
    }
}

/// Holds of no class.
#[derive(Debug)]
struct Nothing;

impl Criterion for Nothing {
    fn ok(&self, _: &ClassView<'_>, _: &mut Judging) -> bool {
        false
    }
    fn absorbing(&self) -> bool {
        true
    }
    fn merge_closed(&self) -> bool {
        true
    }
}

/// A sensitive attribute that a model names.
struct Sensitive<'a> {
    slot: usize,
    column: &'a SensitiveColumn<'a>,
    subjects: Option<&'a [u32]>,
    ranks: Ranks,
}

/// Diversity counts non-missing values; what a class without any does is asked for (user-cases D3).
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing {
    /// The rank of missing.
    pub(super) rank: u32,
    /// Whether a class without any value passes.
    pub(super) exempt: bool,
    /// Whether there may be such a class.
    pub(super) occurs: bool,
}

impl<'a> Sensitive<'a> {
    fn new(slot: usize, rows: &'a Rows<'_>) -> Self {
        let column = &rows.sensitive[slot];
        Self {
            slot,
            column,
            subjects: rows.subjects,
            ranks: Ranks::of(column),
        }
    }

    fn rule(&self, model: &PrivacyModel, needs: &mut Needs) -> Rule {
        // Frequencies of a union are a mean of those before only if nothing is counted in both.
        let additive = self.subjects.is_none();
        if !matches!(model, PrivacyModel::DistinctLDiversity { .. }) {
            needs.histograms[self.slot] = true;
        }
        Rule::Class(match model {
            PrivacyModel::DistinctLDiversity { l, missing, .. } => {
                Arc::new(self.distinct(*l, *missing, needs))
            }
            PrivacyModel::EntropyLDiversity { l, missing, .. } => {
                let distinct = entropy_l_diversity::least_distinct(*l);
                Arc::new(EntropyLDiversity {
                    l: *l,
                    core: self.distinct(distinct, *missing, needs),
                    missing: self.missing(*missing),
                    additive,
                })
            }
            PrivacyModel::RecursiveClDiversity { c, l, missing, .. } => {
                Arc::new(RecursiveClDiversity {
                    c: *c,
                    l: *l,
                    core: self.distinct(*l, *missing, needs),
                    missing: self.missing(*missing),
                    additive,
                })
            }
            PrivacyModel::TCloseness {
                t,
                distance,
                reference,
                ..
            } => return self.closeness(*t, *distance, *reference),
            PrivacyModel::DeltaDisclosure { delta, mode, .. } => Arc::new(DeltaDisclosure {
                slot: self.slot,
                delta: *delta,
                absent: absent_values(*mode),
                reference: self.input(),
                additive,
            }),
            PrivacyModel::BetaLikeness { beta, enhanced, .. } => Arc::new(BetaLikeness {
                slot: self.slot,
                beta: *beta,
                enhanced: *enhanced,
                reference: self.input(),
                additive,
            }),
            PrivacyModel::AlphaK {
                alpha, k, values, ..
            } => {
                needs.subjects = ALL_SUBJECTS;
                Arc::new(AlphaK {
                    slot: self.slot,
                    alpha: *alpha,
                    k: *k,
                    protected: protected(values.as_deref(), self.column, &self.ranks),
                    additive,
                })
            }
            PrivacyModel::KAnonymity { .. }
            | PrivacyModel::KMap { .. }
            | PrivacyModel::DeltaPresence { .. }
            | PrivacyModel::AverageRisk { .. }
            | PrivacyModel::MaximumRisk { .. } => Arc::new(Nothing),
        })
    }

    fn distinct(&self, l: u64, missing: MissingSensitive, needs: &mut Needs) -> DistinctLDiversity {
        let values = &mut needs.values[self.slot];
        *values = (*values).max(l);
        DistinctLDiversity {
            slot: self.slot,
            l,
            missing: self.missing(missing),
        }
    }

    fn missing(&self, missing: MissingSensitive) -> Missing {
        Missing {
            rank: self.ranks.missing(),
            exempt: missing == MissingSensitive::Exempt,
            occurs: self.column.column.codes.contains(&MISSING),
        }
    }

    fn closeness(&self, t: f64, distance: Distance, reference: declaration::Reference) -> Rule {
        let ground = match distance {
            Distance::Equal => Some(Ground::Equal),
            Distance::Ordered => self.column.order.as_ref().map(|_| Ground::Ordered),
            Distance::Hierarchical => {
                let hierarchy = self.column.generalization.as_ref();
                let tree = hierarchy.and_then(|hierarchy| self.ranks.tree(hierarchy));
                tree.map(Ground::Hierarchical)
            }
        };
        let Some(ground) = ground else {
            return Rule::Class(Arc::new(Nothing));
        };
        let closeness = Closeness {
            slot: self.slot,
            t,
            ground,
            additive: self.subjects.is_none(),
        };
        match reference {
            declaration::Reference::Input => {
                Rule::Class(Arc::new(closeness.against_input(self.input())))
            }
            declaration::Reference::Released => Rule::Table(Arc::new(
                closeness.against_released(self.ranks.rank_of.len()),
            )),
        }
    }

    fn input(&self) -> Reference {
        input(&self.ranks, self.column, self.subjects)
    }
}

/// The distribution of the input.
pub(crate) fn input(
    ranks: &Ranks,
    column: &SensitiveColumn<'_>,
    subjects: Option<&[u32]>,
) -> Reference {
    let of_rows = ranks.of_rows(&column.column.codes).map(|rank| (0, rank));
    let whole = Histograms::from_rows(1, of_rows, subjects);
    Reference::new(whole.total(&[true], ranks.rank_of.len()))
}

/// What a mode of delta-disclosure makes of absent values.
pub(crate) fn absent_values(mode: DisclosureMode) -> AbsentValues {
    match mode {
        DisclosureMode::Strict => AbsentValues::Fail,
        DisclosureMode::Arx => AbsentValues::Skip,
    }
}

/// By rank, whether a value is protected by (alpha,k)-anonymity: those named, or all but missing.
pub(crate) fn protected(
    values: Option<&[String]>,
    column: &SensitiveColumn<'_>,
    ranks: &Ranks,
) -> Vec<bool> {
    let dictionary = &column.column.dictionary;
    let is_protected = |&code: &u32| {
        let value = dictionary.value(code);
        value.is_some_and(|value| {
            values.is_none_or(|values| values.iter().any(|named| named == value))
        })
    };
    ranks.code_of.iter().map(is_protected).collect()
}

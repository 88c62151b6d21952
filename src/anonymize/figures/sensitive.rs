//! Exact figures of one sensitive attribute: the worst released class under every model.

use crate::anonymize::classes::histograms::{Histograms, Sums};
use crate::anonymize::classes::sets::MergeScratch;
use crate::anonymize::distribution::{
    AbsentValues, Aligned, ClassCounts, Reference, entropy_l, recursive_c,
};
use crate::anonymize::order::Ranks;
use crate::anonymize::privacy::{Ground, absent_values, input, protected};
use crate::anonymize::report::SensitivePrivacy;
use crate::anonymize::rows::{Rows, SensitiveColumn};
use crate::declaration::PrivacyModel;

/// What the figures of an attribute are computed from.
#[derive(Debug)]
pub(super) struct Sensitive {
    pub(super) name: String,
    missing: u32,
    /// Number of values, missing included.
    ranks: usize,
    has_order: bool,
    hierarchical: Option<Ground>,
    cells: Histograms,
    input: Reference,
    asked: Asked,
}

/// Parameters of the models asked for that some figures need.
#[derive(Debug, Default)]
struct Asked {
    recursive_l: Option<u64>,
    gain: bool,
    disclosure: Option<AbsentValues>,
    /// By rank.
    protected: Option<Vec<bool>>,
}

impl Asked {
    fn of(privacy: &[PrivacyModel], column: &SensitiveColumn<'_>, ranks: &Ranks) -> Self {
        let mut asked = Self::default();
        let models = privacy.iter();
        for model in models.filter(|model| model.attribute() == Some(column.name)) {
            match model {
                PrivacyModel::RecursiveClDiversity { l, .. } => {
                    asked.recursive_l = asked.recursive_l.max(Some(*l));
                }
                PrivacyModel::BetaLikeness { .. } => asked.gain = true,
                PrivacyModel::DeltaDisclosure { mode, .. } => {
                    asked.disclosure.get_or_insert(absent_values(*mode));
                }
                PrivacyModel::AlphaK { values, .. } => {
                    let named = protected(values.as_deref(), column, ranks);
                    let all = asked
                        .protected
                        .get_or_insert_with(|| vec![false; named.len()]);
                    for (all, named) in all.iter_mut().zip(named) {
                        *all |= named;
                    }
                }
                _ => {}
            }
        }
        asked
    }
}

impl Sensitive {
    pub(super) fn new(
        column: &SensitiveColumn<'_>,
        rows: &Rows<'_>,
        cells: usize,
        cell_of_row: &[u32],
        privacy: &[PrivacyModel],
    ) -> Self {
        let ranks = Ranks::of(column);
        let of_rows = ranks.of_rows(&column.column.codes);
        let pairs = cell_of_row.iter().copied().zip(of_rows);
        let tree = column.generalization.as_ref();
        Self {
            name: column.name.to_owned(),
            missing: ranks.missing(),
            ranks: ranks.rank_of.len(),
            has_order: column.order.is_some(),
            hierarchical: tree
                .and_then(|tree| ranks.tree(tree))
                .map(Ground::Hierarchical),
            cells: Histograms::from_rows(cells, pairs, rows.subjects),
            input: input(&ranks, column, rows.subjects),
            asked: Asked::of(privacy, column, &ranks),
        }
    }

    /// The worst of the released classes; `sizes` are those of all classes, in subjects where declared.
    pub(super) fn report(
        &self,
        class_of: &[u32],
        sizes: &[(u64, u64)],
        released: &[bool],
    ) -> SensitivePrivacy {
        let mut classes = Histograms::default();
        let (mut merge, mut sums) = (MergeScratch::default(), Sums::default());
        self.cells.merge_into(
            class_of,
            released.len(),
            &mut merge,
            &mut sums,
            &mut classes,
        );
        let reference = Reference::new(classes.total(released, self.ranks));
        let mut worst = Worst::new(self, &reference);
        let mut buffer = Vec::new();
        for (class, _) in released.iter().enumerate().filter(|&(_, &kept)| kept) {
            worst.judge(classes.counts(class, &mut buffer), sizes[class].1);
        }
        worst.report()
    }
}

/// The worst class so far.
struct Worst<'a> {
    sensitive: &'a Sensitive,
    released: &'a Reference,
    aligned: Aligned,
    values: Vec<u64>,
    found: SensitivePrivacy,
    any: bool,
}

impl<'a> Worst<'a> {
    fn new(sensitive: &'a Sensitive, released: &'a Reference) -> Self {
        let order = sensitive.has_order.then_some(0.0);
        let hierarchy = sensitive.hierarchical.as_ref().map(|_| 0.0);
        let asked = &sensitive.asked;
        Self {
            sensitive,
            released,
            aligned: Aligned::default(),
            values: Vec::new(),
            any: false,
            found: SensitivePrivacy {
                distinct_l: u64::MAX,
                entropy_l: f64::INFINITY,
                recursive_c: asked.recursive_l.map(|_| 0.0),
                t_equal: 0.0,
                t_equal_input: 0.0,
                t_ordered: order,
                t_ordered_input: order,
                t_hierarchical: hierarchy,
                t_hierarchical_input: hierarchy,
                beta: asked.gain.then_some(0.0),
                delta: asked.disclosure.map(|_| 0.0),
                alpha: asked.protected.as_ref().map(|_| 0.0),
                classes_without_value: 0,
            },
        }
    }

    fn judge(&mut self, counts: ClassCounts<'_>, size: u64) {
        let Self {
            sensitive,
            released,
            aligned,
            values,
            found,
            any,
        } = self;
        *any = true;
        values.clear();
        let held = counts.iter().filter(|entry| entry.0 != sensitive.missing);
        values.extend(held.map(|&(_, count)| u64::from(count)));
        found.distinct_l = found.distinct_l.min(values.len() as u64);
        found.entropy_l = found.entropy_l.min(entropy_l(values));
        found.classes_without_value += u64::from(values.is_empty());
        for (t, ground, reference) in [
            (Some(&mut found.t_equal), Some(&Ground::Equal), *released),
            (
                Some(&mut found.t_equal_input),
                Some(&Ground::Equal),
                &sensitive.input,
            ),
            (found.t_ordered.as_mut(), Some(&Ground::Ordered), *released),
            (
                found.t_ordered_input.as_mut(),
                Some(&Ground::Ordered),
                &sensitive.input,
            ),
            (
                found.t_hierarchical.as_mut(),
                sensitive.hierarchical.as_ref(),
                *released,
            ),
            (
                found.t_hierarchical_input.as_mut(),
                sensitive.hierarchical.as_ref(),
                &sensitive.input,
            ),
        ] {
            if let (Some(t), Some(ground)) = (t, ground) {
                *t = t.max(ground.distance(counts, reference, aligned));
            }
        }
        // An exempt class has no bound; one of too few values has none that is large enough.
        if let Some(l) = sensitive.asked.recursive_l
            && !values.is_empty()
        {
            let bound = recursive_c(values, l).unwrap_or(f64::INFINITY);
            found.recursive_c = found.recursive_c.map(|worst| worst.max(bound));
        }
        if let Some(beta) = &mut found.beta {
            *beta = beta.max(sensitive.input.gain(counts, aligned));
        }
        if let (Some(delta), Some(absent)) = (&mut found.delta, sensitive.asked.disclosure) {
            *delta = delta.max(sensitive.input.disclosure(counts, absent, aligned));
        }
        if let (Some(alpha), Some(protected)) = (&mut found.alpha, &sensitive.asked.protected) {
            let held = counts.iter().filter(|entry| protected[entry.0 as usize]);
            let most = held.map(|&(_, count)| count).max().unwrap_or(0);
            *alpha = alpha.max(f64::from(most) / size.max(1) as f64);
        }
    }

    fn report(self) -> SensitivePrivacy {
        let mut found = self.found;
        if !self.any {
            found.distinct_l = 0;
            found.entropy_l = 0.0;
        }
        // JSON has no infinity: an unbounded figure is left out.
        for figure in [&mut found.recursive_c, &mut found.beta, &mut found.delta] {
            *figure = figure.filter(|figure| figure.is_finite());
        }
        found
    }
}

//! Where rows went, and how many people a class holds.

use rustc_hash::FxHashMap;

use super::labels::Labels;
use super::report::Counted;
use super::targets::Search;
use crate::anonymize::table::MISSING;

/// Labels of one value, over all attributes, beyond which its class is not looked for.
const MOST_PLACES: usize = 64;
/// Pairs of a row and a class that may hold it, beyond which people are not counted by them.
const MOST_CANDIDATES: usize = 20_000_000;

/// Sets of released classes (`None`: any), and by raw row which of them may hold it.
type Fits = (Vec<Option<Vec<u32>>>, Vec<u32>);

/// Where rows went.
pub(super) struct Truth {
    /// By quasi-identifier and raw row: code of the value.
    pub(super) values: Vec<Vec<u32>>,
    /// Sets of released classes; `None`: any.
    fits: Vec<Option<Vec<u32>>>,
    /// By raw row: which of the sets may hold it.
    fit_of: Vec<u32>,
}

/// How many people each class holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sizes {
    /// By class, at least.
    pub(super) least: Vec<u64>,
    /// By class, at most.
    pub(super) most: Vec<u64>,
    /// What that is.
    pub(super) counted: Counted,
}

impl Truth {
    fn fit(&self, row: usize) -> Option<&[u32]> {
        self.fits[self.fit_of[row] as usize].as_deref()
    }

    /// The released class of a raw row, where that can be told.
    pub(super) fn class_of(&self, row: usize) -> Option<u32> {
        match self.fit(row) {
            Some(&[class]) => Some(class),
            _ => None,
        }
    }
}

impl Search<'_> {
    /// Finds the classes of the raw rows: by recoding them as the release was, else by the labels that can stand for
    /// their values.
    pub(super) fn truth(&self) -> Truth {
        let raw = self.scene.raw;
        let values = self.values(raw).into_iter();
        let values: Vec<Vec<u32>> = values
            .map(|column| column.unwrap_or_else(|| vec![MISSING; raw.rows]))
            .collect();
        let (fits, fit_of) = self
            .by_recoding()
            .unwrap_or_else(|| self.by_labels(&values));
        Truth {
            values,
            fits,
            fit_of,
        }
    }

    fn by_recoding(&self) -> Option<Fits> {
        let recoded = self.scene.recoded?;
        let columns = self.quasi.iter().map(|&position| {
            let mut columns = recoded.columns.iter();
            let own = columns.find(|column| column.position == position)?;
            let released = &self.scene.released.columns[position].as_ref()?.dictionary;
            let codes = own.labels.iter().map(|label| match label {
                None => Some(MISSING),
                Some(label) => released.code(label),
            });
            Some((&own.codes, codes.collect::<Vec<Option<u32>>>()))
        });
        let columns: Vec<_> = columns.collect::<Option<_>>()?;
        // The first set is that of rows that were not released.
        let classes = (0..).take(self.classes.rows.len()).map(|class| vec![class]);
        let fits = std::iter::once(Vec::new()).chain(classes).map(Some);
        let fit_of = (0..self.scene.raw.rows).map(|row| {
            if recoded.suppressed[row] {
                return 0;
            }
            let labels = columns
                .iter()
                .map(|(codes, released)| released[codes[row] as usize]);
            let labels: Option<Vec<u32>> = labels.collect();
            let class = labels.and_then(|labels| self.classes.number.get(&labels));
            class.map_or(0, |class| class + 1)
        });
        Some((fits.collect(), fit_of.collect()))
    }

    fn by_labels(&self, values: &[Vec<u32>]) -> Fits {
        let rows = self.scene.raw.rows;
        let places = self.labels.iter().map(Labels::labels_of_values);
        let Some(places) = places.collect::<Option<Vec<Vec<Vec<u32>>>>>() else {
            return (vec![None], vec![0; rows]);
        };
        let mut fits = Vec::new();
        let mut known: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        let fit_of = (0..rows).map(|row| {
            let own: Vec<u32> = values.iter().map(|column| column[row]).collect();
            *known.entry(own).or_insert_with_key(|own| {
                let both = own.iter().zip(&places);
                let labels = both.map(|(&code, places)| &places[code as usize][..]);
                fits.push(self.classes_of(&labels.collect::<Vec<_>>()));
                u32::try_from(fits.len() - 1).unwrap_or(u32::MAX)
            })
        });
        let fit_of = fit_of.collect();
        (fits, fit_of)
    }

    /// The classes that bear one of the labels of each attribute; `None` if those are too many to be tried.
    fn classes_of(&self, labels: &[&[u32]]) -> Option<Vec<u32>> {
        let mut tuples: Vec<Vec<u32>> = vec![Vec::new()];
        for labels in labels {
            let longer = tuples.iter().flat_map(|tuple| {
                labels
                    .iter()
                    .map(move |&label| [&tuple[..], &[label]].concat())
            });
            tuples = longer.collect();
            if tuples.len() > MOST_PLACES {
                return None;
            }
        }
        let found = tuples
            .iter()
            .filter_map(|tuple| self.classes.number.get(tuple).copied());
        Some(found.collect())
    }

    /// Distinct subjects by class where every released row is that of one raw row, else bounds of them; rows where no
    /// subject is declared.
    ///
    /// The lower bound of a class is the greater of what the models demand of it and the fewest subjects that own as
    /// many of the rows that it may hold as it has. Cost: a sort of the pairs of rows and classes.
    pub(super) fn sizes(&self, truth: &Truth) -> Sizes {
        let rows = &self.classes.rows;
        let of = |least: Vec<u64>, counted| Sizes {
            least,
            most: rows.clone(),
            counted,
        };
        let Some(subjects) = &self.scene.raw.subjects else {
            return of(rows.clone(), Counted::Rows);
        };
        let fits = || (0..self.scene.raw.rows).map(|row| truth.fit(row));
        let pairs: Option<usize> = fits().map(|fit| fit.map(<[u32]>::len)).sum();
        let demanded = |class: usize| self.scene.least_size.max(1).min(rows[class]);
        if pairs.is_none_or(|pairs| pairs > MOST_CANDIDATES) {
            let least = (0..rows.len()).map(demanded).collect();
            return of(least, Counted::SubjectsAtLeast);
        }
        let pairs = fits().zip(&subjects.codes).flat_map(|(fit, &subject)| {
            let classes = fit.unwrap_or_default().iter();
            classes.map(move |&class| (class, subject))
        });
        let mut pairs: Vec<(u32, u32)> = pairs.collect();
        pairs.sort_unstable();
        // By class: rows of each subject that may be in it.
        let mut candidates: Vec<Vec<u64>> = vec![Vec::new(); rows.len()];
        for run in pairs.chunk_by(|left, right| left == right) {
            candidates[run[0].0 as usize].push(run.len() as u64);
        }
        let is_certain = fits().all(|fit| fit.is_some_and(|fit| fit.len() < 2));
        let sums = candidates.iter().map(|own| own.iter().sum::<u64>());
        if is_certain && sums.eq(rows.iter().copied()) {
            let sizes: Vec<u64> = candidates.iter().map(|own| own.len() as u64).collect();
            return Sizes {
                least: sizes.clone(),
                most: sizes,
                counted: Counted::Subjects,
            };
        }
        let least = candidates.iter_mut().enumerate().map(|(class, own)| {
            let erased = self.scene.erased_rows.unwrap_or(u64::MAX);
            let wanted = rows[class].saturating_sub(erased);
            demanded(class).max(fewest(own, wanted))
        });
        of(least.collect(), Counted::SubjectsAtLeast)
    }
}

/// The fewest subjects that own so many rows together; 0 if all do not.
fn fewest(rows_of_subjects: &mut [u64], wanted: u64) -> u64 {
    rows_of_subjects.sort_unstable_by(|left, right| right.cmp(left));
    let (mut sum, mut subjects) = (0, 0);
    for rows in &*rows_of_subjects {
        if sum >= wanted {
            break;
        }
        sum += rows;
        subjects += 1;
    }
    if sum >= wanted { subjects } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_holds_no_fewer_subjects_than_own_so_many_rows() {
        assert_eq!(fewest(&mut [1, 4, 2], 6), 2);
        assert_eq!(fewest(&mut [1, 4, 2], 7), 3);
        assert_eq!(fewest(&mut [1, 4, 2], 8), 0);
        assert_eq!(fewest(&mut [1, 4, 2], 0), 0);
    }
}

//! Linkage with a file of known people: which released classes could hold each of them (algorithms.md E.3).
//!
//! Every person counts once, however many records of them are known: by the record with the least match set, and by the
//! mean over records where a chance is told.

use rayon::prelude::*;

use super::known::{Known, Released, Target};
use super::outcome::{Outcome, Person, mean};

/// How well people were found.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulation {
    /// Different people.
    pub targets: u64,
    /// Of them, those with a record whose own class is known.
    pub members: u64,
    /// Of them, those whose sensitive value is known.
    pub asked: u64,
    /// Match set sizes in people and how many people have them, ascending; 0: no class is compatible.
    pub match_sizes: Vec<(u64, u64)>,
    /// Share of people with a match set of 1 to k - 1.
    pub below_k: f64,
    /// Share of people with a match set of one.
    pub unique: f64,
    /// Share of released people whose own class is in their match set.
    pub coverage: f64,
    /// Mean chance, over released people, of picking their row out of their match set.
    pub success: f64,
    /// Share of people with a known sensitive value whose match set's most frequent value is theirs, and the share for
    /// whom that of all released rows is. Of equally frequent values the lowest code is guessed.
    pub inference: Option<[f64; 2]>,
}

/// Greatest memory of compatible classes per attribute, in words of 64 classes (64 MiB).
const MOST_WORDS: usize = 8 << 20;

/// A release and the people to be found in it.
#[derive(Debug)]
pub struct Linker<'a> {
    released: Released<'a>,
    targets: &'a [Target],
    k: u64,
    words: usize,
    /// By attribute: number of what is known of each person among the distinct, and the classes compatible with each.
    compatible: Vec<(Vec<u32>, Vec<u64>)>,
    majority: Option<u32>,
    /// Numbers of the records, those of each person one after another.
    by_person: Vec<usize>,
}

impl<'a> Linker<'a> {
    /// Finds the compatible classes of each distinct piece of knowledge.
    ///
    /// Cost: distinct values by classes per attribute, where they take at most 64 MiB; beyond that an attribute is looked
    /// up person by person.
    #[must_use]
    pub fn new(released: Released<'a>, targets: &'a [Target], k: u64) -> Self {
        let words = released.sizes.len().div_ceil(64);
        let attributes = released.regions.first().map_or(0, Vec::len);
        let compatible = (0..attributes)
            .map(|attribute| compatible(released, targets, attribute, words))
            .collect();
        let majority = released.values.and_then(|values| {
            let all = values.iter().flatten().copied();
            most_frequent(all.collect())
        });
        let mut by_person: Vec<usize> = (0..targets.len()).collect();
        by_person.sort_by_key(|&target| targets[target].person);
        Self {
            released,
            targets,
            k,
            words,
            compatible,
            majority,
            by_person,
        }
    }

    /// Links with knowledge of the given attributes alone. Cost: people by classes / 64 by attributes.
    #[must_use]
    pub fn simulate(&self, attributes: &[usize]) -> Simulation {
        let outcomes: Vec<Outcome> = (0..self.targets.len())
            .into_par_iter()
            .map(|target| self.outcome(target, attributes))
            .collect();
        let is_of_one =
            |left: &usize, right: &usize| self.targets[*left].person == self.targets[*right].person;
        let people = self.by_person.chunk_by(is_of_one);
        let people: Vec<Person> = people
            .map(|records| Person::of(records.iter().map(|&record| &outcomes[record])))
            .collect();
        let share = |wanted: &dyn Fn(&Person) -> bool| {
            let found = people.iter().filter(|person| wanted(person)).count();
            found as f64 / people.len().max(1) as f64
        };
        let members: Vec<[f64; 2]> = people.iter().filter_map(|person| person.own).collect();
        let guesses: Vec<[f64; 2]> = people.iter().filter_map(|person| person.guess).collect();
        let [coverage, success] = mean(&members).unwrap_or_default();
        let mut sizes: Vec<u64> = people.iter().map(|person| person.size).collect();
        sizes.sort_unstable();
        let runs = sizes.chunk_by(|left, right| left == right);
        Simulation {
            targets: people.len() as u64,
            members: members.len() as u64,
            asked: guesses.len() as u64,
            match_sizes: runs.map(|run| (run[0], run.len() as u64)).collect(),
            below_k: share(&|person| person.size > 0 && person.size < self.k),
            unique: share(&|person| person.size == 1),
            coverage,
            success,
            inference: mean(&guesses),
        }
    }

    /// Links with every set of one to `most` attributes, and with all of them, the last.
    #[must_use]
    pub fn by_knowledge(&self, most: usize) -> Vec<(Vec<usize>, Simulation)> {
        let attributes = self.compatible.len();
        let mut sets: Vec<Vec<usize>> = Vec::new();
        let mut grown: Vec<Vec<usize>> = vec![Vec::new()];
        for _ in 0..most.min(attributes) {
            grown = grown
                .iter()
                .flat_map(|set| {
                    let from = set.last().map_or(0, |last| last + 1);
                    (from..attributes).map(move |next| [&set[..], &[next]].concat())
                })
                .collect();
            sets.extend(grown.iter().cloned());
        }
        if most < attributes {
            sets.push((0..attributes).collect());
        }
        let simulated = sets.into_iter().map(|set| {
            let simulation = self.simulate(&set);
            (set, simulation)
        });
        simulated.collect()
    }

    fn outcome(&self, number: usize, attributes: &[usize]) -> Outcome {
        let target = &self.targets[number];
        let mut set = vec![u64::MAX; self.words];
        if let Some(last) = set.last_mut()
            && !self.released.sizes.len().is_multiple_of(64)
        {
            *last = (1 << (self.released.sizes.len() % 64)) - 1;
        }
        for &attribute in attributes {
            let (places, bits) = &self.compatible[attribute];
            if bits.is_empty() {
                let known = &target.known[attribute];
                for class in members(&set).collect::<Vec<_>>() {
                    if !known.is_compatible(&self.released.regions[class][attribute]) {
                        set[class / 64] &= !(1 << (class % 64));
                    }
                }
                continue;
            }
            let own = &bits[places[number] as usize * self.words..][..self.words];
            for (word, own) in set.iter_mut().zip(own) {
                *word &= own;
            }
        }
        let size = members(&set).map(|class| self.released.sizes[class]).sum();
        let own = target.class.map(|class| {
            let class = class as usize;
            set[class / 64] & (1 << (class % 64)) != 0
        });
        let guess = target
            .value
            .zip(self.released.values)
            .map(|(value, values)| {
                let found = members(&set).flat_map(|class| values[class].iter().copied());
                let guess = most_frequent(found.collect());
                [guess == Some(value), self.majority == Some(value)]
            });
        Outcome { size, own, guess }
    }
}

fn members(set: &[u64]) -> impl Iterator<Item = usize> {
    set.iter().enumerate().flat_map(|(at, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                at * 64 + bit
            })
        })
    })
}

fn compatible(
    released: Released<'_>,
    targets: &[Target],
    attribute: usize,
    words: usize,
) -> (Vec<u32>, Vec<u64>) {
    let mut distinct: Vec<&Known> = targets
        .iter()
        .map(|target| &target.known[attribute])
        .collect();
    distinct.sort_unstable_by_key(|known| known.key());
    distinct.dedup_by_key(|known| known.key());
    if distinct.len().saturating_mul(words) > MOST_WORDS {
        return (Vec::new(), Vec::new());
    }
    let bits = distinct.par_iter().flat_map_iter(|known| {
        released.regions.chunks(64).map(|classes| {
            let fits = classes
                .iter()
                .map(|regions| known.is_compatible(&regions[attribute]));
            fits.enumerate()
                .fold(0, |word, (bit, fits)| word | (u64::from(fits) << bit))
        })
    });
    let bits: Vec<u64> = bits.collect();
    let place = |target: &Target| {
        let key = target.known[attribute].key();
        let place = distinct.binary_search_by_key(&key, |known| known.key());
        u32::try_from(place.unwrap_or(0)).unwrap_or(u32::MAX)
    };
    (targets.iter().map(place).collect(), bits)
}

/// The value with most rows, of equals the lowest code.
fn most_frequent(mut counts: Vec<(u32, u64)>) -> Option<u32> {
    counts.sort_unstable();
    let mut best: Option<(u64, u32)> = None;
    for run in counts.chunk_by(|left, right| left.0 == right.0) {
        let rows = run.iter().map(|&(_, rows)| rows).sum();
        if best.is_none_or(|(most, _)| rows > most) {
            best = Some((rows, run[0].0));
        }
    }
    best.map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::clusters::extent::Region;
    use proptest::prelude::*;

    fn interval(low: f64, high: f64) -> Region {
        Region::Interval {
            low,
            high,
            is_missing: false,
        }
    }

    fn target(person: u32, age: f64, sex: u32, class: Option<u32>, value: u32) -> Target {
        Target {
            person,
            known: vec![Known::number(age, 0.0), Known::Code(sex)],
            class,
            value: Some(value),
        }
    }

    #[test]
    fn people_are_found_in_the_classes_that_fit_them() {
        let regions = [
            vec![interval(20.0, 29.0), Region::Values(vec![1])],
            vec![interval(25.0, 39.0), Region::Values(vec![1, 2])],
            vec![interval(60.0, 60.0), Region::Any],
        ];
        let values = [vec![(1, 2)], vec![(1, 1), (2, 3)], vec![(3, 1)]];
        let released = Released {
            regions: &regions,
            sizes: &[2, 4, 1],
            values: Some(&values),
        };
        let targets = [
            target(0, 22.0, 1, Some(0), 1),
            target(1, 27.0, 1, Some(1), 2),
            target(2, 60.0, 2, Some(2), 3),
            target(3, 50.0, 1, None, 1),
        ];
        let linker = Linker::new(released, &targets, 3);
        let all = linker.simulate(&[0, 1]);
        assert_eq!(all.match_sizes, [(0, 1), (1, 1), (2, 1), (6, 1)]);
        assert_eq!((all.below_k, all.unique, all.coverage), (0.5, 0.25, 1.0));
        assert!((all.success - (0.5 + 1.0 / 6.0 + 1.0) / 3.0).abs() < 1e-12);
        // The first, by value 1; the second, whose six rows hold three of each, is guessed 1; the third, 3; the fourth has
        // no match set. The table's most frequent value: 1 and 2 have three rows each, so 1.
        assert_eq!(all.inference, Some([0.5, 0.5]));
        let sets: Vec<Vec<usize>> = linker
            .by_knowledge(1)
            .into_iter()
            .map(|(set, _)| set)
            .collect();
        assert_eq!(sets, [vec![0], vec![1], vec![0, 1]]);
        assert_eq!(linker.by_knowledge(3).len(), 3);
    }

    #[test]
    fn a_person_of_many_records_counts_once() {
        let regions = [
            vec![interval(20.0, 29.0), Region::Any],
            vec![interval(30.0, 39.0), Region::Any],
        ];
        let values = [vec![(1, 2)], vec![(2, 8)]];
        let released = Released {
            regions: &regions,
            sizes: &[2, 8],
            values: Some(&values),
        };
        let mut targets = vec![
            target(7, 22.0, 1, Some(0), 1),
            target(3, 31.0, 1, Some(1), 1),
        ];
        // Records of the first person that are in no class, in the large one, and of nobody knows where.
        targets.push(target(7, 90.0, 1, Some(1), 1));
        targets.extend(vec![target(7, 35.0, 1, Some(1), 2); 2]);
        targets.push(target(7, 35.0, 1, None, 2));
        let found = Linker::new(released, &targets, 3).simulate(&[0, 1]);
        assert_eq!((found.targets, found.members, found.asked), (2, 2, 2));
        assert_eq!(found.match_sizes, [(2, 1), (8, 1)]);
        assert!((found.below_k - 0.5).abs() < 1e-12);
        assert!((found.coverage - 0.875).abs() < 1e-12);
        let own: f64 = (1.0 / 2.0 + 0.0 + 2.0 / 8.0) / 4.0;
        assert!((found.success - own.midpoint(1.0 / 8.0)).abs() < 1e-12);
        let [right, _] = found.inference.unwrap();
        assert!((right - 2.0 / 5.0).abs() < 1e-12);
    }

    #[test]
    fn an_error_widens_what_fits_and_missing_is_no_wildcard() {
        let known = Known::number(31.0, 2.0);
        assert!(known.is_compatible(&interval(20.0, 29.0)));
        assert!(!Known::number(31.0, 1.0).is_compatible(&interval(20.0, 29.0)));
        assert!(!Known::Code(0).is_compatible(&interval(20.0, 29.0)));
        assert!(!known.is_compatible(&Region::Values(vec![0])));
        assert!(Known::Nothing.is_compatible(&Region::Values(vec![0])));
    }

    proptest! {
        #[test]
        fn the_sets_are_those_of_a_scan(
            classes in prop::collection::vec((0_u32..6, 0_u32..6, 1_u64..9), 1..90),
            people in prop::collection::vec((0_u32..6, 0_u32..6), 1..20),
        ) {
            let regions: Vec<Vec<Region>> = classes
                .iter()
                .map(|&(first, second, _)| {
                    let ends = [f64::from(first.min(second)), f64::from(first.max(second))];
                    vec![interval(ends[0], ends[1]), Region::Values(vec![second])]
                })
                .collect();
            let sizes: Vec<u64> = classes.iter().map(|&(_, _, size)| size).collect();
            let targets: Vec<Target> = people
                .iter()
                .zip(0..)
                .map(|(&(age, sex), person)| target(person, f64::from(age), sex, None, 1))
                .collect();
            let released = Released { regions: &regions, sizes: &sizes, values: None };
            let found = Linker::new(released, &targets, 3).simulate(&[0, 1]);
            let mut expected: Vec<u64> = people
                .iter()
                .map(|&(age, sex)| {
                    let fits = classes.iter().filter(|&&(first, second, _)| {
                        first.min(second) <= age && age <= first.max(second) && second == sex
                    });
                    fits.map(|&(_, _, size)| size).sum()
                })
                .collect();
            expected.sort_unstable();
            let told: Vec<u64> = found
                .match_sizes
                .iter()
                .flat_map(|&(size, people)| vec![size; usize::try_from(people).unwrap()])
                .collect();
            prop_assert_eq!(told, expected);
        }
    }
}

//! Every privacy model, measured on the output's texts from its definition.

use std::collections::{BTreeMap, HashMap};

use super::Verifier;
use super::models::{self, Tree};
use super::regroup::Classes;
use crate::declaration::{DisclosureMode, Distance, MissingSensitive, PrivacyModel, Reference};

/// The texts of a sensitive attribute: by class and over all released rows and the input, how often each occurs.
struct Texts<'a> {
    position: usize,
    values: Vec<Option<&'a str>>,
    /// Value number and count; in rows, or in subjects that bear the value.
    classes: Vec<BTreeMap<usize, u64>>,
    released: Vec<u64>,
    input: Vec<u64>,
}

impl Texts<'_> {
    /// Counts of a class's values that are not missing.
    fn non_missing(&self, class: &BTreeMap<usize, u64>) -> Vec<u64> {
        let held = class
            .iter()
            .filter(|&(&value, _)| self.values[value].is_some());
        held.map(|(_, &count)| count).collect()
    }

    /// Shares of a class, all values of the attribute in order of their numbers.
    fn shares(&self, class: &BTreeMap<usize, u64>) -> Vec<f64> {
        let count = |value: usize| class.get(&value).copied().unwrap_or(0);
        models::shares(&(0..self.values.len()).map(count).collect::<Vec<_>>())
    }
}

impl<'a> Verifier<'a> {
    /// Measures every model from its definition; gives the smallest class.
    pub(super) fn check_privacy(&mut self, classes: &Classes, released: &[usize]) -> u64 {
        let sizes = match &self.table.subjects {
            None => classes.count_distinct((0..).zip(released).map(|(index, _)| Some(index))),
            Some(subjects) => classes.count_distinct(released.iter().map(|&row| {
                let source = self.rendered.order[row] as usize;
                Some(subjects.codes[source])
            })),
        };
        let smallest = sizes.iter().copied().min().unwrap_or(0);
        let mut known: HashMap<&str, Option<Texts<'a>>> = HashMap::new();
        for model in self.recipe.privacy {
            let (name, failing) = match model.attribute() {
                None if model.population().is_some() => {
                    self.against_population(model, classes, &sizes)
                }
                None => check_sizes(model, &sizes),
                Some(attribute) => {
                    let texts = known
                        .entry(attribute)
                        .or_insert_with(|| self.texts(classes, released, attribute));
                    let failing = texts
                        .as_ref()
                        .and_then(|texts| self.failing(model, texts, &sizes));
                    (title(model, attribute), failing)
                }
            };
            let failure = match failing {
                None => Some("the column is not what the model needs".to_owned()),
                Some(0) => None,
                Some(failing) => Some(match model {
                    PrivacyModel::KAnonymity { .. } | PrivacyModel::MaximumRisk { .. } => {
                        format!("{failing} classes are smaller; the smallest has {smallest}")
                    }
                    PrivacyModel::DistinctLDiversity { .. } => {
                        format!("{failing} classes have fewer values")
                    }
                    _ => format!("{failing} of {} classes do not meet it", sizes.len()),
                }),
            };
            self.check(&name, failure);
        }
        smallest
    }

    /// A model that compares with a population: its name, and the number of classes that do not meet it.
    fn against_population(
        &self,
        model: &PrivacyModel,
        classes: &Classes,
        sizes: &[u64],
    ) -> (String, Option<usize>) {
        let mut populations = self.table.populations.iter();
        let population =
            populations.find(|population| Some(population.dataset_id) == model.population());
        let members = population.and_then(|population| self.members(population, classes));
        match model {
            PrivacyModel::KMap { k, .. } => {
                (format!("{k}-map"), members.map(|members| members.below(*k)))
            }
            PrivacyModel::DeltaPresence { min, max, .. } => (
                format!("({},{})-presence", min.to_f64(), max.to_f64()),
                members.map(|members| members.outside(sizes, *min, *max)),
            ),
            _ => ("privacy model".to_owned(), None),
        }
    }

    /// The texts of an attribute: of the output where it is in it, else of the input.
    fn texts(&self, classes: &Classes, released: &[usize], attribute: &str) -> Option<Texts<'a>> {
        let position = self.schema.position(attribute)?;
        let source = self.table.columns[position].as_ref()?;
        let rendered = &self.rendered.columns;
        let output = rendered.iter().position(|column| column.name == attribute);
        let mut values: Vec<Option<&'a str>> = Vec::new();
        let mut numbers: HashMap<Option<&'a str>, usize> = HashMap::new();
        let mut number_of = |text: Option<&'a str>| {
            *numbers.entry(text).or_insert_with(|| {
                values.push(text);
                values.len() - 1
            })
        };
        let input_text = |row: usize| source.dictionary.value(source.codes[row]);
        let subject_of = |row: usize| match &self.table.subjects {
            Some(subjects) => subjects.codes[row] as usize,
            None => row,
        };
        let input: Vec<(usize, usize)> = (0..self.table.rows)
            .map(|row| (number_of(input_text(row)), subject_of(row)))
            .collect();
        let mut triples: Vec<(u32, usize, usize)> = Vec::with_capacity(released.len());
        for (&class, &row) in classes.of_row.iter().zip(released) {
            let source_row = self.rendered.order[row] as usize;
            let text = match output {
                Some(column) => self.rendered.cell(row, column),
                None => input_text(source_row),
            };
            triples.push((class, number_of(text), subject_of(source_row)));
        }
        let kept = triples
            .iter()
            .map(|&(_, value, subject)| (value, subject))
            .collect();
        triples.sort_unstable();
        triples.dedup();
        let mut of_classes = vec![BTreeMap::new(); classes.count];
        for (class, value, _) in triples {
            *of_classes[class as usize].entry(value).or_insert(0) += 1;
        }
        let count = |mut pairs: Vec<(usize, usize)>| {
            pairs.sort_unstable();
            pairs.dedup();
            let mut counts = vec![0; values.len()];
            for (value, _) in pairs {
                counts[value] += 1;
            }
            counts
        };
        Some(Texts {
            position,
            released: count(kept),
            input: count(input),
            classes: of_classes,
            values,
        })
    }

    /// Number of classes that do not meet a model of a sensitive attribute; `None` if it makes no sense there.
    fn failing(&self, model: &PrivacyModel, texts: &Texts<'_>, sizes: &[u64]) -> Option<usize> {
        let diverse = |missing: MissingSensitive, meets: &dyn Fn(&[u64]) -> bool| {
            let fails = |class: &&BTreeMap<usize, u64>| {
                let counts = texts.non_missing(class);
                let exempt = missing == MissingSensitive::Exempt && counts.is_empty();
                !exempt && !meets(&counts)
            };
            texts.classes.iter().filter(fails).count()
        };
        let input = models::shares(&texts.input);
        let alike = |meets: &dyn Fn(&[f64]) -> bool| {
            let fails = |class: &&BTreeMap<usize, u64>| !meets(&texts.shares(class));
            texts.classes.iter().filter(fails).count()
        };
        Some(match model {
            PrivacyModel::DistinctLDiversity { l, missing, .. } => {
                diverse(*missing, &|counts| counts.len() as u64 >= *l)
            }
            PrivacyModel::EntropyLDiversity { l, missing, .. } => diverse(*missing, &|counts| {
                !counts.is_empty() && models::within(l.log2(), models::entropy(counts))
            }),
            PrivacyModel::RecursiveClDiversity { c, l, missing, .. } => {
                diverse(*missing, &|counts| {
                    models::is_recursively_diverse(counts, *c, *l)
                })
            }
            PrivacyModel::TCloseness {
                t,
                distance,
                reference,
                ..
            } => self.too_far(texts, *t, *distance, *reference)?,
            PrivacyModel::DeltaDisclosure { delta, mode, .. } => alike(&|shares| {
                let skips = *mode == DisclosureMode::Arx;
                models::keeps_disclosure_below(shares, &input, *delta, skips)
            }),
            PrivacyModel::BetaLikeness { beta, enhanced, .. } => {
                alike(&|shares| models::is_beta_like(shares, &input, *beta, *enhanced))
            }
            PrivacyModel::AlphaK {
                alpha, k, values, ..
            } => {
                let is_protected = |value: usize| {
                    let text = texts.values[value];
                    text.is_some_and(|text| {
                        let named = values.as_ref();
                        named.is_none_or(|named| named.iter().any(|named| named == text))
                    })
                };
                let fails = |&(class, &size): &(&BTreeMap<usize, u64>, &u64)| {
                    let bearers = class
                        .iter()
                        .filter(|&(&value, _)| is_protected(value))
                        .map(|(_, &count)| count);
                    let most = bearers.max().unwrap_or(0);
                    size < *k || !models::within(most as f64 / size as f64, *alpha)
                };
                texts.classes.iter().zip(sizes).filter(fails).count()
            }
            PrivacyModel::KAnonymity { .. }
            | PrivacyModel::KMap { .. }
            | PrivacyModel::DeltaPresence { .. }
            | PrivacyModel::AverageRisk { .. }
            | PrivacyModel::MaximumRisk { .. } => return None,
        })
    }

    /// Number of classes that are further than `t` from the reference.
    fn too_far(
        &self,
        texts: &Texts<'_>,
        t: f64,
        distance: Distance,
        reference: Reference,
    ) -> Option<usize> {
        let counts = match reference {
            Reference::Released => &texts.released,
            Reference::Input => &texts.input,
        };
        let attribute = &self.schema.attributes()[texts.position];
        // The values of the reference, in order where the distance asks for one.
        let mut values: Vec<usize> = match distance {
            Distance::Ordered => {
                models::places(&texts.values, attribute.declaration.order.as_deref())?
            }
            Distance::Equal | Distance::Hierarchical => (0..texts.values.len()).collect(),
        };
        values.retain(|&value| counts[value] > 0);
        let tree = match distance {
            Distance::Hierarchical => {
                let hierarchy = attribute.hierarchy.as_ref()?;
                let paths = values
                    .iter()
                    .map(|&value| hierarchy.path(texts.values[value]).ok());
                Some(Tree::of_paths(&paths.collect::<Option<Vec<_>>>()?)?)
            }
            Distance::Equal | Distance::Ordered => None,
        };
        let expected: Vec<u64> = values.iter().map(|&value| counts[value]).collect();
        let expected = models::shares(&expected);
        let is_too_far = |class: &&BTreeMap<usize, u64>| {
            let held = values
                .iter()
                .map(|value| class.get(value).copied().unwrap_or(0));
            let held = models::shares(&held.collect::<Vec<_>>());
            let found = match &tree {
                Some(tree) => models::hierarchical_distance(&held, &expected, tree),
                None if distance == Distance::Ordered => models::ordered_distance(&held, &expected),
                None => models::equal_distance(&held, &expected),
            };
            !models::within(found, t)
        };
        Some(texts.classes.iter().filter(is_too_far).count())
    }
}

/// A model that looks at sizes only: its name, and the number of classes that do not meet it.
fn check_sizes(model: &PrivacyModel, sizes: &[u64]) -> (String, Option<usize>) {
    let smaller = |k: f64| {
        let fails = |&&size: &&u64| !models::within(k, size as f64);
        Some(sizes.iter().filter(fails).count())
    };
    match model {
        PrivacyModel::KAnonymity { k } => (format!("{k}-anonymity"), smaller(*k as f64)),
        PrivacyModel::MaximumRisk { max } => {
            let max = max.to_f64();
            (format!("maximum risk of {max}"), smaller(1.0 / max))
        }
        PrivacyModel::AverageRisk { max } => {
            let max = max.to_f64();
            let subjects: u64 = sizes.iter().sum();
            let holds = models::within(sizes.len() as f64, max * subjects as f64);
            let failing = if holds { 0 } else { sizes.len() };
            (format!("average risk of {max}"), Some(failing))
        }
        _ => ("privacy model".to_owned(), None),
    }
}

fn title(model: &PrivacyModel, attribute: &str) -> String {
    let name = match model {
        PrivacyModel::DistinctLDiversity { l, .. } => format!("distinct {l}-diversity"),
        PrivacyModel::EntropyLDiversity { l, .. } => format!("entropy {l}-diversity"),
        PrivacyModel::RecursiveClDiversity { c, l, .. } => {
            format!("recursive ({c},{l})-diversity")
        }
        PrivacyModel::TCloseness { t, .. } => format!("{t}-closeness"),
        PrivacyModel::DeltaDisclosure { delta, .. } => format!("{delta}-disclosure privacy"),
        PrivacyModel::BetaLikeness { beta, .. } => format!("{beta}-likeness"),
        PrivacyModel::AlphaK { alpha, k, .. } => format!("({alpha},{k})-anonymity"),
        PrivacyModel::KAnonymity { .. }
        | PrivacyModel::KMap { .. }
        | PrivacyModel::DeltaPresence { .. }
        | PrivacyModel::AverageRisk { .. }
        | PrivacyModel::MaximumRisk { .. } => "privacy model".to_owned(),
    };
    format!("{name} of `{attribute}`")
}

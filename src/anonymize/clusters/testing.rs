//! Small problems for tests.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::points::{Center, Domain, Feature, Missing, Points, Scaling, Semantic, Sensitive, code};
use super::taxonomy::Taxonomy;
use crate::anonymize::hierarchy::{Generalization, Level};

/// Numbers as one raw column, one row per number.
pub(in crate::anonymize) fn line(values: &[f64]) -> Points {
    let codes: Vec<u32> = (1..).take(values.len()).collect();
    let by_code = [&[0.0], values].concat();
    Points {
        weights: vec![1; values.len()],
        features: vec![Feature::numbers(codes, by_code, Scaling::Raw)],
        sensitive: Vec::new(),
    }
}

/// Cells of four attributes of every kind, some missing, with weights to 3 and one sensitive attribute.
pub(in crate::anonymize) fn random_points(seed: u64, cells: usize) -> Points {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut codes =
        |most: u32| -> Vec<u32> { (0..cells).map(|_| random.random_range(0..=most)).collect() };
    let columns = [codes(9), codes(3), codes(5), codes(4)];
    let sensitive = codes(3);
    let weights = codes(2).into_iter().map(|weight| weight + 1).collect();
    let [number, nominal, ordinal, tree] = columns;
    let values = vec![0.0, 1.5, 2.0, 3.0, 5.0, 8.0, 8.5, 9.0, 13.0, 21.0];
    let taxonomy = Taxonomy::new(
        vec![0, 0, 0, 1, 1, 2, 2],
        vec![4, 2, 2, 1, 1, 1, 1],
        &[3, 4, 5, 6],
    );
    Points {
        weights,
        features: vec![
            Feature::numbers(number, values, Scaling::Standard),
            Feature::nominal(nominal, 3),
            Feature {
                codes: ordinal,
                domain: Domain::Ordinal {
                    ranks: vec![0, 3, 1, 0, 4, 2],
                },
                center: Center::Median,
                missing: Missing::Masked,
            },
            Feature {
                codes: tree,
                domain: Domain::Taxonomy {
                    taxonomy,
                    semantic: Semantic::WuPalmer,
                },
                center: Center::Medoid,
                missing: Missing::Category,
            },
        ],
        sensitive: vec![Sensitive {
            codes: sensitive,
            values: 3,
        }],
    }
}

/// A hierarchy over the distinct chains of labels (from the value to the top) of rows, and the code of each row.
pub(in crate::anonymize) fn generalization(chains: &[Vec<String>]) -> (Generalization, Vec<u32>) {
    let mut values: Vec<&Vec<String>> = Vec::new();
    let mut codes = Vec::new();
    for chain in chains {
        let place = values.iter().position(|known| *known == chain);
        codes.push(code(1 + place.unwrap_or(values.len())));
        if place.is_none() {
            values.push(chain);
        }
    }
    let height = values[0].len();
    let mut levels: Vec<Level> = Vec::new();
    for level in 0..height {
        let is_top = level + 1 == height;
        let mut labels: Vec<Option<Box<str>>> = if is_top { Vec::new() } else { vec![None] };
        let mut node_of = vec![0];
        for chain in &values {
            let label: Option<Box<str>> = Some(chain[level].as_str().into());
            let place = labels.iter().position(|known| *known == label);
            node_of.push(code(place.unwrap_or(labels.len())));
            if place.is_none() {
                labels.push(label);
            }
        }
        let leaves = (0..labels.len()).map(|node| {
            let below = node_of.iter().skip(1).filter(|&&own| own as usize == node);
            (below.count() as u64).max(1)
        });
        levels.push(Level {
            leaves: leaves.collect(),
            node_of,
            parent: Vec::new(),
            labels,
        });
    }
    for level in 0..height - 1 {
        let mut parent = vec![0; levels[level].labels.len()];
        for value in 0..=values.len() {
            parent[levels[level].node_of[value] as usize] = levels[level + 1].node_of[value];
        }
        levels[level].parent = parent;
    }
    let domain = values.len().max(2) as u64;
    (Generalization { levels, domain }, codes)
}

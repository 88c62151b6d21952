//! What merging classes does to each privacy model: the flags of the engine's proofs, tried on random classes.
//!
//! A flag "yes" must survive every case; a flag "no" must be refuted by at least one, or it would cost the search
//! proofs for nothing.

use kindred::anonymize::distribution::{
    AbsentValues, DistanceTree, at_most, distinct, equal_distance, hierarchical_distance,
    is_alpha_bounded, is_beta_like, is_enhanced_beta_like, is_entropy_diverse, is_present_within,
    is_recursively_diverse, keeps_disclosure_below, ordered_distance,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const VALUES: usize = 4;
const CASES: usize = 20_000;

type Counts = [u32; VALUES];

/// A class: rows per sensitive value, and members of the population (or of the public table) with the same values.
#[derive(Debug, Clone, Copy)]
struct Class {
    counts: Counts,
    population: u32,
}

impl Class {
    fn rows(&self) -> u32 {
        self.counts.iter().sum()
    }

    fn merged_with(&self, other: &Self) -> Self {
        Self {
            counts: std::array::from_fn(|i| self.counts[i] + other.counts[i]),
            population: self.population + other.population,
        }
    }
}

/// A model: whether a class passes, given the table's counts; and what merging is claimed to do.
struct Model {
    name: &'static str,
    absorbing: bool,
    merge_closed: bool,
    holds: fn(&Class, &Counts) -> bool,
}

fn hierarchical(class: &Counts, table: &Counts) -> f64 {
    let tree = DistanceTree::new(vec![vec![0, 0, 1, 1], vec![0, 0]]).expect("a sound tree");
    let mut scratch = [0.0; 6];
    hierarchical_distance(class, table, &tree, &mut scratch)
}

/// The table of algorithms.md D.2, one line per model and mode.
fn models() -> Vec<Model> {
    fn model(
        name: &'static str,
        (absorbing, merge_closed): (bool, bool),
        holds: fn(&Class, &Counts) -> bool,
    ) -> Model {
        Model {
            name,
            absorbing,
            merge_closed,
            holds,
        }
    }
    const BOTH: (bool, bool) = (true, true);
    const CLOSED: (bool, bool) = (false, true);
    const NEITHER: (bool, bool) = (false, false);
    vec![
        model("k-anonymity", BOTH, |class, _| class.rows() >= 4),
        model("k-map", BOTH, |class, _| class.population >= 6),
        model("distinct l", BOTH, |class, _| distinct(&class.counts) >= 2),
        model("entropy l", CLOSED, |class, _| {
            is_entropy_diverse(&class.counts, 2.0)
        }),
        model("entropy l, fractional", CLOSED, |class, _| {
            is_entropy_diverse(&class.counts, 1.5)
        }),
        model("recursive (c,2)", CLOSED, |class, _| {
            is_recursively_diverse(&class.counts, 1.2, 2)
        }),
        model("recursive (c,3)", CLOSED, |class, _| {
            is_recursively_diverse(&class.counts, 3.0, 3)
        }),
        model("t-closeness, equal", CLOSED, |class, table| {
            at_most(equal_distance(&class.counts, table), 0.3)
        }),
        model("t-closeness, ordered", CLOSED, |class, table| {
            at_most(ordered_distance(&class.counts, table), 0.2)
        }),
        model("t-closeness, hierarchical", CLOSED, |class, table| {
            at_most(hierarchical(&class.counts, table), 0.25)
        }),
        model("beta-likeness", CLOSED, |class, table| {
            is_beta_like(&class.counts, table, 0.8)
        }),
        model("enhanced beta-likeness", CLOSED, |class, table| {
            is_enhanced_beta_like(&class.counts, table, 2.0)
        }),
        model("(alpha,k)", CLOSED, |class, _| {
            class.rows() >= 2 && is_alpha_bounded(&class.counts[..2], class.rows().into(), 0.5)
        }),
        model("delta-presence", CLOSED, |class, _| {
            is_present_within(class.rows().into(), class.population.into(), 0.2, 0.6)
        }),
        model("delta-disclosure, strict", CLOSED, |class, table| {
            keeps_disclosure_below(&class.counts, table, 1.0, AbsentValues::Fail)
        }),
        model("delta-disclosure, as in ARX", NEITHER, |class, table| {
            keeps_disclosure_below(&class.counts, table, 1.0, AbsentValues::Skip)
        }),
    ]
}

/// Two classes and the rest of the table; no class is empty, and the population holds the sample.
fn cases() -> impl Strategy<Value = (Class, Class, Counts)> {
    let class = || {
        let counts = prop::array::uniform4(0u32..5);
        let sampled = counts.prop_filter("empty class", |counts| counts.iter().sum::<u32>() > 0);
        (sampled, 0u32..12).prop_map(|(counts, others)| Class {
            counts,
            population: counts.iter().sum::<u32>() + others,
        })
    };
    (class(), class(), prop::array::uniform4(0u32..8))
}

#[test]
fn merging_does_to_each_model_what_its_flags_say() {
    let mut runner = TestRunner::deterministic();
    let cases: Vec<_> = (0..CASES)
        .map(|_| cases().new_tree(&mut runner).expect("a case").current())
        .collect();
    for model in models() {
        let (mut passed, mut absorbed, mut closed) = (0, true, true);
        for (first, second, rest) in &cases {
            let merged = first.merged_with(second);
            let table: Counts = std::array::from_fn(|i| merged.counts[i] + rest[i]);
            let holds = |class: &Class| (model.holds)(class, &table);
            let (one, other, both) = (holds(first), holds(second), holds(&merged));
            passed += u32::from(one);
            absorbed &= both || !(one || other);
            closed &= both || !(one && other);
            assert!(
                !(model.absorbing && !both && (one || other)),
                "{} is not absorbing: {first:?} {second:?} {table:?}",
                model.name
            );
            assert!(
                !(model.merge_closed && !both && one && other),
                "{} is not merge-closed: {first:?} {second:?} {table:?}",
                model.name
            );
        }
        assert!(passed > 200, "{} hardly ever holds: {passed}", model.name);
        assert_eq!(absorbed, model.absorbing, "{}: absorbing", model.name);
        assert_eq!(closed, model.merge_closed, "{}: merge-closed", model.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// From the definition, with fractions instead of whole numbers and with recursion instead of scratch space.
    #[test]
    fn distances_agree_with_their_definitions((first, _, rest) in cases()) {
        let table: Counts = std::array::from_fn(|i| first.counts[i] + rest[i]);
        let (rows, all) = (f64::from(first.rows()), f64::from(table.iter().sum::<u32>()));
        let extra: Vec<f64> = (0..VALUES)
            .map(|i| f64::from(first.counts[i]) / rows - f64::from(table[i]) / all)
            .collect();
        let equal = extra.iter().map(|extra| extra.abs()).sum::<f64>() / 2.0;
        let ordered = (1..VALUES).map(|i| extra[..i].iter().sum::<f64>().abs()).sum::<f64>() / 3.0;
        // Two leaves of one group exchange min(pos, neg) over half the height; the groups exchange what is left.
        let exchanged = |left: f64, right: f64| {
            if left * right < 0.0 { left.abs().min(right.abs()) } else { 0.0 }
        };
        let within = exchanged(extra[0], extra[1]) + exchanged(extra[2], extra[3]);
        let between = exchanged(extra[0] + extra[1], extra[2] + extra[3]);
        prop_assert!((equal_distance(&first.counts, &table) - equal).abs() < 1e-12);
        prop_assert!((ordered_distance(&first.counts, &table) - ordered).abs() < 1e-12);
        prop_assert!((hierarchical(&first.counts, &table) - (within / 2.0 + between)).abs() < 1e-12);
    }

    /// The order of the values does not matter, and the definition by sorting gives the same verdict.
    #[test]
    fn recursive_diversity_agrees_with_sorting(counts in prop::array::uniform6(0u32..9), l in 1usize..6, tenths in 1u32..50) {
        let c = f64::from(tenths) / 10.0;
        let mut falling = counts;
        falling.sort_unstable_by(|a, b| b.cmp(a));
        let tail: u32 = falling[l - 1..].iter().sum();
        let expected = u64::from(falling[0]) * 10 < u64::from(tenths) * u64::from(tail);
        prop_assert_eq!(is_recursively_diverse(&counts, c, l as u64), expected);
    }
}

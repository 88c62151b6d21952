//! From centroids to a partition that keeps k (algorithms.md B.4), and what it is worth.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::assignment::{Assigner, parts};
use super::centroid;
use super::distance::{LossKind, Sites, Space};
use super::partition::{Guard, Member, Members, Part, Partition, rows_of};
use super::points::{Points, code};
use super::polish;
use super::privacy_term::{Entropies, EntropyKind};

/// What a partition is asked to be good at, and what it must keep.
#[derive(Clone, Copy)]
pub struct Aim<'a> {
    /// Least rows of a class, at least 1.
    pub k: u64,
    /// What classes must satisfy besides; merged until they do.
    pub guard: Option<&'a Guard<'a>>,
    /// One weight per sensitive attribute, at least 0.
    pub lambdas: &'a [f64],
    /// How entropies are put together.
    pub entropy: EntropyKind,
    /// Whether entropies are divided by their greatest possible value.
    pub normalised: bool,
    /// How deviations are put together; that of the space.
    pub loss: LossKind,
    /// Whether small open sets are assigned optimally.
    pub polish: bool,
}

/// A partition with its centroids and values.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Every row in a class of at least k.
    pub partition: Partition,
    /// One per class.
    pub centroids: Sites,
    /// Information loss, at the centres of the classes.
    pub loss: f64,
    /// Information loss at the centroids that were decoded, before recentring; may exceed 1. Absent for given partitions.
    pub free_loss: Option<f64>,
    /// The privacy term: least entropies, weighted.
    pub privacy: f64,
    /// The same by a mean instead of the least, for guiding.
    pub guide: f64,
    /// Least entropy, by sensitive attribute.
    pub least_entropies: Vec<f64>,
    /// Share of rows in classes of one value, by sensitive attribute.
    pub homogeneity: Vec<f64>,
    /// Assignments that were made to find it.
    pub rounds: u64,
}

impl Solution {
    /// `loss - privacy`: what is minimised and reported.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.loss - self.privacy
    }

    /// `loss - guide`: what a search follows.
    #[must_use]
    pub fn guided(&self) -> f64 {
        self.loss - self.guide
    }
}

/// Decodes centroids of one problem.
#[derive(Clone)]
pub struct Decoder<'a> {
    assigner: Assigner<'a>,
    aim: Aim<'a>,
}

impl<'a> Decoder<'a> {
    /// A decoder; `None` where no partition can keep k and the guard: too few rows, or all rows as one class fail.
    #[must_use]
    pub fn new(space: &'a Space<'a>, aim: Aim<'a>) -> Option<Self> {
        let everyone = everyone(space.points);
        let is_possible =
            rows_of(&everyone) >= aim.k.max(1) && aim.guard.is_none_or(|guard| guard(&everyone));
        is_possible.then(|| Self {
            assigner: Assigner::new(space, aim.k.max(1)),
            aim,
        })
    }

    /// The problem's space.
    #[must_use]
    pub fn space(&self) -> &'a Space<'a> {
        self.assigner.space
    }

    /// What is asked for.
    #[must_use]
    pub fn aim(&self) -> &Aim<'a> {
        &self.aim
    }

    /// The same with other weights of the entropies.
    #[must_use]
    pub fn with_lambdas<'b>(&'b self, lambdas: &'b [f64]) -> Decoder<'b> {
        let mut other: Decoder<'b> = self.clone();
        other.aim.lambdas = lambdas;
        other
    }

    /// Assigns, repairs, recentres; again from the centres, at most `rounds` times in all or until nothing changes. Gives
    /// the best by `value` of all rounds, of equals the first.
    ///
    /// Without a guard, a round's loss at its centres is at most that at its centroids, except where a masked attribute
    /// is published as missing. Cost: per round, a nearest centroid per cell and the repairs.
    ///
    /// # Panics
    /// No centroids.
    #[must_use]
    pub fn decode(&self, centroids: &Sites, rounds: usize) -> Solution {
        let (space, k) = (self.assigner.space, self.assigner.k);
        let mut centroids = centroids.clone();
        let mut best: Option<Solution> = None;
        let mut last: Option<Partition> = None;
        let mut made = 0;
        for _ in 0..rounds.max(1) {
            made += 1;
            let units = self.assigner.assign(&centroids);
            let polished = self
                .aim
                .polish
                .then(|| polish::polish(space, &centroids, &units, k));
            let assigned = polished.flatten().unwrap_or_else(|| parts(&units));
            let (partition, numbers) = Partition::renumbered(assigned);
            let before = centroids.select(numbers.iter().map(|&number| number as usize));
            let (partition, before) = self.merged(partition, before);
            if last.as_ref() == Some(&partition) {
                break;
            }
            let found = self.judge_from(&partition, Some(&before));
            centroids = found.centroids.clone();
            if best
                .as_ref()
                .is_none_or(|best| found.value() < best.value())
            {
                best = Some(found);
            }
            last = Some(partition);
        }
        Solution {
            rounds: made,
            ..best.expect("at least one round")
        }
    }

    /// What a given partition is worth; it is taken as it is.
    #[must_use]
    pub fn judge(&self, partition: &Partition) -> Solution {
        self.judge_from(partition, None)
    }

    fn judge_from(&self, partition: &Partition, before: Option<&Sites>) -> Solution {
        let (space, aim) = (self.assigner.space, &self.aim);
        let members = partition.members();
        let centroids = centroid::centers(space, &members, before);
        let entropies = Entropies::of(space.points, &members, aim.normalised);
        Solution {
            loss: information_loss(space, &members, &centroids, aim.loss),
            free_loss: before.map(|sites| information_loss(space, &members, sites, aim.loss)),
            privacy: entropies.term(aim.lambdas, aim.entropy),
            guide: entropies.guide(aim.lambdas, aim.entropy),
            least_entropies: entropies.least(),
            homogeneity: entropies.homogeneity(),
            partition: partition.clone(),
            centroids,
            rounds: 1,
        }
    }

    fn merged(&self, partition: Partition, centroids: Sites) -> (Partition, Sites) {
        match self.aim.guard {
            None => (partition, centroids),
            Some(guard) => merged(self.assigner.space, guard, partition, centroids),
        }
    }
}

/// Merges every class that fails the guard with that of the nearest centroid, the lowest such class first, until none does
/// or one class is left.
pub(super) fn merged(
    space: &Space<'_>,
    guard: &Guard<'_>,
    partition: Partition,
    centroids: Sites,
) -> (Partition, Sites) {
    let members = partition.members();
    let mut classes: Vec<Vec<Member>> = members.iter().map(<[Member]>::to_vec).collect();
    let mut failing: BTreeSet<usize> = (0..classes.len())
        .into_par_iter()
        .filter(|&class| !guard(&classes[class]))
        .collect();
    if failing.is_empty() {
        return (partition, centroids);
    }
    let mut sites = centroids;
    while let Some(class) = failing.pop_first() {
        let others =
            (0..classes.len()).filter(|&other| other != class && !classes[other].is_empty());
        let distance = |other: usize| space.between(sites.site(class), sites.site(other));
        let nearest = others
            .map(|other| (distance(other), other))
            .min_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        let Some((_, other)) = nearest else { break };
        let moved = std::mem::take(&mut classes[class]);
        classes[other].extend(moved);
        classes[other] = joined(std::mem::take(&mut classes[other]));
        sites.set(
            other,
            centroid::center(space, &classes[other], None).site(0),
        );
        if guard(&classes[other]) {
            failing.remove(&other);
        } else {
            failing.insert(other);
        }
    }
    let parts = classes.iter().zip(0..).flat_map(|(members, class)| {
        let part = move |&(cell, rows): &Member| Part { cell, class, rows };
        members.iter().map(part)
    });
    let (partition, numbers) = Partition::renumbered(parts.collect());
    let sites = sites.select(numbers.iter().map(|&number| number as usize));
    (partition, sites)
}

/// All rows as one class.
#[must_use]
pub fn everyone(points: &Points) -> Vec<Member> {
    (0..code(points.len()))
        .zip(points.weights.iter().copied())
        .collect()
}

/// Members by cell, each once.
fn joined(mut members: Vec<Member>) -> Vec<Member> {
    members.sort_unstable();
    members.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 += later.1;
        }
        same
    });
    members
}

/// Information loss of classes released as the given places (algorithms.md B.1, B.3).
#[must_use]
pub fn information_loss(
    space: &Space<'_>,
    members: &Members,
    centroids: &Sites,
    kind: LossKind,
) -> f64 {
    let mut sums = vec![0.0; space.points.features.len()];
    for (class, members) in members.iter().enumerate() {
        let deviations = space.deviations(members, centroids.site(class));
        for (sum, deviation) in sums.iter_mut().zip(deviations) {
            *sum += deviation;
        }
    }
    space.loss(&sums, kind)
}

/// Sum of squared errors within classes by the total sum of squares: the ratio loss at the classes' centres, 0 to 1 for
/// means and modes.
#[must_use]
pub fn sse_by_sst(space: &Space<'_>, partition: &Partition) -> f64 {
    let members = partition.members();
    let centroids = centroid::centers(space, &members, None);
    information_loss(space, &members, &centroids, LossKind::Ratio)
}

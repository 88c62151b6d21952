//! A tree of boxes over places, to find the nearest without looking at all (after Bentley's k-d tree, 1975).
//!
//! A box holds, per attribute, the range of its numbers or the least distance of any of its categories to each code. A
//! bound adds up the same terms in the same order as a distance, each no greater; rounding is monotone, so a bound never
//! exceeds a distance even in its last bit, and what the tree finds is exactly what a scan would find.

use super::distance::{Site, Sites, Space, squared};
use super::points::code;

/// Places in one leaf.
const LEAF: usize = 8;
/// Largest number of codes of an attribute that boxes bound.
const MOST_BOUNDED: usize = 512;

/// The tree.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    /// Places, leaf by leaf.
    pub(super) order: Vec<u32>,
    pub(super) nodes: Vec<Node>,
    /// By node: low, high, and whether one is missing (1.0), per number.
    ranges: Vec<[f64; 3]>,
    /// By node: least distance to each code, per category that is bounded.
    least: Vec<f64>,
    /// By category: where its codes begin in a node's run of `least`, if it is bounded.
    starts: Vec<Option<usize>>,
    stride: usize,
    numbers: usize,
}

/// A run of places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) start: u32,
    pub(super) end: u32,
    /// The node above; the root is its own.
    pub(super) parent: u32,
    /// First of two children; 0 for a leaf.
    pub(super) children: u32,
}

/// The best place found and its distance.
pub(super) type Nearest = Option<(f64, u32)>;

impl Tree {
    /// Builds the tree. Cost: sorts of all places at each of log n depths.
    pub(super) fn new(space: &Space<'_>, sites: &Sites) -> Self {
        let mut starts = Vec::new();
        let mut stride = 0;
        for attribute in &space.categorical {
            let is_bounded = attribute.codes <= MOST_BOUNDED;
            starts.push(is_bounded.then_some(stride));
            stride += if is_bounded { attribute.codes } else { 0 };
        }
        let mut tree = Self {
            order: (0..code(sites.len())).collect(),
            nodes: vec![Node {
                start: 0,
                end: code(sites.len()),
                parent: 0,
                children: 0,
            }],
            ranges: Vec::new(),
            least: Vec::new(),
            starts,
            stride,
            numbers: space.numeric.len(),
        };
        let mut next = 0;
        while next < tree.nodes.len() {
            tree.split(space, sites, next);
            next += 1;
        }
        tree.bound(space, sites);
        tree
    }

    /// Splits a node along the attribute that spreads it most, if it is not small.
    fn split(&mut self, space: &Space<'_>, sites: &Sites, node: usize) {
        let Node { start, end, .. } = self.nodes[node];
        let places = &mut self.order[start as usize..end as usize];
        if places.len() <= LEAF {
            return;
        }
        let mut best = (0.0, None);
        for (position, attribute) in space.numeric.iter().enumerate() {
            let present = places
                .iter()
                .map(|&place| sites.site(place as usize).numbers[position])
                .filter(|value| !value.is_nan());
            let [low, high] = present
                .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
                    [low.min(value), high.max(value)]
                });
            let spread = attribute.weight * (high - low).max(0.0).powi(2) / 4.0;
            if spread > best.0 {
                best = (spread, Some((true, position)));
            }
        }
        for (position, attribute) in space.categorical.iter().enumerate() {
            let mut codes: Vec<u32> = places
                .iter()
                .map(|&place| sites.site(place as usize).codes[position])
                .collect();
            codes.sort_unstable();
            let longest = codes
                .chunk_by(|left, right| left == right)
                .map(<[u32]>::len);
            let share = longest.max().unwrap_or(0) as f64 / codes.len() as f64;
            let spread = attribute.weight * (1.0 - share);
            if spread > best.0 {
                best = (spread, Some((false, position)));
            }
        }
        let middle = places.len() / 2;
        let cut = match best.1 {
            None => return,
            Some((true, position)) => {
                let value = |place: &u32| sites.site(*place as usize).numbers[position];
                places.sort_unstable_by(|left, right| {
                    value(left).total_cmp(&value(right)).then(left.cmp(right))
                });
                middle
            }
            Some((false, position)) => {
                let value = |place: u32| sites.site(place as usize).codes[position];
                places.sort_unstable_by_key(|&place| (value(place), place));
                // The boundary between two codes that is nearest to the middle.
                let boundary = |at: &usize| value(places[at - 1]) != value(places[*at]);
                let below = (1..=middle).rev().find(boundary);
                let above = (middle + 1..places.len()).find(boundary);
                match (below, above) {
                    (Some(below), Some(above)) if middle - below > above - middle => above,
                    (Some(cut), _) | (None, Some(cut)) => cut,
                    (None, None) => return,
                }
            }
        };
        let cut = start + code(cut);
        self.nodes[node].children = code(self.nodes.len());
        for (start, end) in [(start, cut), (cut, end)] {
            self.nodes.push(Node {
                start,
                end,
                parent: code(node),
                children: 0,
            });
        }
    }

    /// Computes all boxes, children before parents.
    fn bound(&mut self, space: &Space<'_>, sites: &Sites) {
        let (numbers, stride) = (self.numbers, self.stride);
        let empty = [f64::INFINITY, f64::NEG_INFINITY, 0.0];
        self.ranges = vec![empty; self.nodes.len() * numbers];
        self.least = vec![f64::INFINITY; self.nodes.len() * stride];
        for node in (0..self.nodes.len()).rev() {
            let Node {
                start,
                end,
                children,
                ..
            } = self.nodes[node];
            if children > 0 {
                for child in [children as usize, children as usize + 1] {
                    for at in 0..numbers {
                        let [low, high, missing] = self.ranges[child * numbers + at];
                        let range = &mut self.ranges[node * numbers + at];
                        *range = [range[0].min(low), range[1].max(high), range[2].max(missing)];
                    }
                    for at in 0..stride {
                        let below = self.least[child * stride + at];
                        let least = &mut self.least[node * stride + at];
                        *least = least.min(below);
                    }
                }
                continue;
            }
            for &place in &self.order[start as usize..end as usize] {
                let site = sites.site(place as usize);
                for (at, &value) in site.numbers.iter().enumerate() {
                    let range = &mut self.ranges[node * numbers + at];
                    if value.is_nan() {
                        range[2] = 1.0;
                    } else {
                        *range = [range[0].min(value), range[1].max(value), range[2]];
                    }
                }
                let bounded = space.categorical.iter().zip(&self.starts).zip(site.codes);
                for ((attribute, begin), &own) in bounded {
                    let Some(begin) = begin else { continue };
                    let run = &mut self.least[node * stride + begin..][..attribute.codes];
                    for (other, least) in (0..).zip(run) {
                        *least = least.min(space.category(attribute, other, own));
                    }
                }
            }
        }
    }

    /// A lower bound of the distance from a place to any in a node.
    pub(super) fn lower_bound(&self, space: &Space<'_>, node: u32, from: Site<'_>) -> f64 {
        let mut sum = 0.0;
        let ranges = &self.ranges[node as usize * self.numbers..][..self.numbers];
        for ((attribute, &value), &[low, high, missing]) in
            space.numeric.iter().zip(from.numbers).zip(ranges)
        {
            let to_range = if value < low {
                squared(value, low)
            } else if value > high {
                squared(value, high)
            } else {
                0.0
            };
            let distance = match (value.is_nan(), missing > 0.0, low <= high) {
                (true, true, _) => 0.0,
                (true, false, _) | (false, true, false) => 1.0,
                (false, true, true) => to_range.min(1.0),
                (false, false, _) => to_range,
            };
            sum += attribute.weight * distance;
        }
        let least = &self.least[node as usize * self.stride..][..self.stride];
        for ((attribute, begin), &own) in space.categorical.iter().zip(&self.starts).zip(from.codes)
        {
            if let Some(begin) = begin {
                sum += attribute.weight * least[begin + own as usize];
            }
        }
        sum
    }

    /// The nearest of the places that `wanted` admits, of equals the lowest; `best` is a guess to beat or to keep.
    pub(super) fn nearest(
        &self,
        space: &Space<'_>,
        sites: &Sites,
        from: Site<'_>,
        wanted: &dyn Fn(u32) -> bool,
        mut best: Nearest,
    ) -> Nearest {
        if sites.is_empty() {
            return best;
        }
        let mut open = vec![(self.lower_bound(space, 0, from), 0_u32)];
        while let Some((bound, number)) = open.pop() {
            if best.is_some_and(|(distance, _)| bound > distance) {
                continue;
            }
            let node = self.nodes[number as usize];
            if node.children > 0 {
                let mut pair = [node.children, node.children + 1]
                    .map(|child| (self.lower_bound(space, child, from), child));
                if pair[0].0 < pair[1].0 {
                    pair.swap(0, 1);
                }
                // The nearer box is popped first.
                open.extend(pair);
                continue;
            }
            for &place in &self.order[node.start as usize..node.end as usize] {
                if !wanted(place) {
                    continue;
                }
                let distance = space.between(from, sites.site(place as usize));
                let is_better = best.is_none_or(|(least, other)| {
                    distance < least || (distance <= least && place < other)
                });
                if is_better {
                    best = Some((distance, place));
                }
            }
        }
        best
    }

    /// All places at most `limit` away, ascending.
    pub(super) fn within(
        &self,
        space: &Space<'_>,
        sites: &Sites,
        from: Site<'_>,
        limit: f64,
    ) -> Vec<u32> {
        let (mut found, mut open) = (Vec::new(), vec![0_u32]);
        while let Some(number) = open.pop() {
            if self.lower_bound(space, number, from) > limit {
                continue;
            }
            let node = self.nodes[number as usize];
            if node.children > 0 {
                open.extend([node.children, node.children + 1]);
                continue;
            }
            let places = &self.order[node.start as usize..node.end as usize];
            found.extend(
                places
                    .iter()
                    .copied()
                    .filter(|&place| space.between(from, sites.site(place as usize)) <= limit),
            );
        }
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::distance::LossKind;
    use super::super::testing::random_points;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn the_tree_finds_what_a_scan_finds(seed in any::<u64>(), cells in 1_usize..80, places in 1_usize..60) {
            let points = random_points(seed, cells);
            let others = random_points(seed ^ 1, places);
            let space = Space::new(&points, LossKind::Balanced);
            let foreign = Space::new(&others, LossKind::Balanced);
            let sites = foreign.cells();
            let tree = Tree::new(&space, sites);
            let wanted = |place: u32| place % 3 != 1;
            for cell in 0..points.len() {
                let from = space.cells().site(cell);
                let mut expected: Nearest = None;
                for place in (0..code(sites.len())).filter(|&place| wanted(place)) {
                    let distance = space.between(from, sites.site(place as usize));
                    if expected.is_none_or(|(least, _)| distance < least) {
                        expected = Some((distance, place));
                    }
                }
                prop_assert_eq!(tree.nearest(&space, sites, from, &wanted, None), expected);
                prop_assert!(tree.lower_bound(&space, 0, from) <= expected.map_or(f64::INFINITY, |found| found.0));
            }
        }
    }
}

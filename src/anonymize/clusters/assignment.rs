//! Assignment of cells to centroids under "every class that is used holds at least k rows" (algorithms.md B.4, steps 1, 2).
//!
//! Each cell goes to its nearest centroid, of equals the lowest. Then, while a class is too small, the smallest (of equals
//! the lowest) is either dissolved into the next best classes or filled from classes that can spare rows, whichever
//! raises the cost less (of equals dissolved). Each step closes a class or ends a deficit without making another, so
//! there are at most as many as centroids.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::distance::{Sites, Space};
use super::partition::Part;
use super::points::code;
use super::tree::Tree;

/// No further unit of a cell.
const NONE: u32 = u32::MAX;

/// Cells looked up one after another, each starting from the answer of the one before.
const RUN: usize = 256;

/// Rows of one cell that go together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    pub(super) cell: u32,
    pub(super) cluster: u32,
    pub(super) rows: u32,
    /// Distance of one row to the centroid of its cluster.
    pub(super) cost: f64,
    /// Next unit of the cell.
    next: u32,
}

/// The cells of a problem, ready to be assigned many times.
#[derive(Debug, Clone)]
pub(super) struct Assigner<'a> {
    pub(super) space: &'a Space<'a>,
    tree: Tree,
    /// Leaf of each cell.
    leaf_of: Vec<u32>,
    pub(super) k: u64,
}

impl<'a> Assigner<'a> {
    pub(super) fn new(space: &'a Space<'a>, k: u64) -> Self {
        let tree = Tree::new(space, space.cells());
        let mut leaf_of = vec![0; space.points.len()];
        for (node, number) in tree.nodes.iter().zip(0..) {
            if node.children == 0 {
                for &cell in &tree.order[node.start as usize..node.end as usize] {
                    leaf_of[cell as usize] = number;
                }
            }
        }
        Self {
            space,
            tree,
            leaf_of,
            k,
        }
    }

    /// Distance and number of the centroid nearest to each cell, of equals the lowest, among those wanted.
    ///
    /// Cost: per cell, a walk of the tree of centroids; the scan of all in the worst case.
    pub(super) fn nearest(
        &self,
        centroids: &Sites,
        tree: &Tree,
        wanted: &(dyn Fn(u32) -> bool + Sync),
    ) -> Vec<(f64, u32)> {
        let runs: Vec<Vec<(u32, (f64, u32))>> = self
            .tree
            .order
            .par_chunks(RUN)
            .map(|run| {
                let mut guess: Option<u32> = None;
                let found = run.iter().map(|&cell| {
                    let site = self.space.cells().site(cell as usize);
                    let start = guess.map(|place| {
                        (
                            self.space.between(site, centroids.site(place as usize)),
                            place,
                        )
                    });
                    let nearest = tree
                        .nearest(self.space, centroids, site, wanted, start)
                        .expect("a centroid is wanted");
                    guess = Some(nearest.1);
                    (cell, nearest)
                });
                found.collect()
            })
            .collect();
        let mut nearest = vec![(0.0, 0); self.space.points.len()];
        for (cell, found) in runs.into_iter().flatten() {
            nearest[cell as usize] = found;
        }
        nearest
    }

    /// Assigns all rows; gives parts whose classes are numbers of centroids. There must be k rows and a centroid.
    pub(super) fn assign(&self, centroids: &Sites) -> Vec<Unit> {
        let mut repair = Repair::new(self, centroids);
        while let Some(&(_, cluster)) = repair.deficient.first() {
            repair.step(cluster);
        }
        repair.units
    }
}

/// The parts of units.
pub(super) fn parts(units: &[Unit]) -> Vec<Part> {
    let part = |unit: &Unit| Part {
        cell: unit.cell,
        class: unit.cluster,
        rows: unit.rows,
    };
    units.iter().map(part).collect()
}

/// Summed distance of all rows to the centroids they are assigned to.
#[cfg(test)]
pub(super) fn cost(units: &[Unit]) -> f64 {
    units
        .iter()
        .map(|unit| f64::from(unit.rows) * unit.cost)
        .sum()
}

/// Rows to be moved: unit, rows of it, new cluster, cost of a row there.
type Move = (u32, u32, u32, f64);

struct Repair<'r> {
    assigner: &'r Assigner<'r>,
    centroids: &'r Sites,
    tree: Tree,
    units: Vec<Unit>,
    /// Units by cluster; may hold some that have left.
    members: Vec<Vec<u32>>,
    sizes: Vec<u64>,
    used: Vec<bool>,
    /// Size and number of the used clusters that are too small.
    deficient: BTreeSet<(u64, u32)>,
    /// By node of the tree of cells: no unit below costs more.
    dearest: Vec<f64>,
}

/// What the fill looks at next: boxes before units of equal regret, units by number.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Offer {
    regret: f64,
    is_unit: bool,
    number: u32,
}

impl Eq for Offer {}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap gives the greatest first.
        let reversed = other.regret.total_cmp(&self.regret);
        reversed
            .then(other.is_unit.cmp(&self.is_unit))
            .then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'r> Repair<'r> {
    fn new(assigner: &'r Assigner<'r>, centroids: &'r Sites) -> Self {
        let tree = Tree::new(assigner.space, centroids);
        let nearest = assigner.nearest(centroids, &tree, &|_| true);
        let mut members = vec![Vec::new(); centroids.len()];
        let mut sizes = vec![0; centroids.len()];
        let mut dearest = vec![f64::NEG_INFINITY; assigner.tree.nodes.len()];
        let weights = &assigner.space.points.weights;
        let cells = (0..).zip(nearest).zip(weights);
        let units = cells.map(|((cell, (cost, cluster)), &rows)| {
            members[cluster as usize].push(cell);
            sizes[cluster as usize] += u64::from(rows);
            let leaf = &mut dearest[assigner.leaf_of[cell as usize] as usize];
            *leaf = leaf.max(cost);
            Unit {
                cell,
                cluster,
                rows,
                cost,
                next: NONE,
            }
        });
        let units: Vec<Unit> = units.collect();
        for node in (1..dearest.len()).rev() {
            let parent = assigner.tree.nodes[node].parent as usize;
            dearest[parent] = dearest[parent].max(dearest[node]);
        }
        let used: Vec<bool> = sizes.iter().map(|&size| size > 0).collect();
        let numbered = sizes.iter().copied().zip(0..);
        let deficient = numbered.filter(|&(size, _)| size > 0 && size < assigner.k);
        Self {
            deficient: deficient.collect(),
            assigner,
            centroids,
            tree,
            units,
            members,
            sizes,
            used,
            dearest,
        }
    }

    /// Dissolves or fills the cluster, whichever is cheaper.
    fn step(&mut self, cluster: u32) {
        let dissolving = self.dissolving(cluster);
        let limit = dissolving.as_ref().map_or(f64::INFINITY, |found| found.0);
        let filling = self.filling(cluster, limit);
        let moves = match (dissolving, filling) {
            (Some((dissolve, _)), Some((fill, moves))) if fill < dissolve => moves,
            (Some((_, moves)), _) => {
                self.used[cluster as usize] = false;
                moves
            }
            (None, Some((_, moves))) => moves,
            (None, None) => {
                // Fewer than k rows in all: the caller has excluded it.
                self.deficient.clear();
                return;
            }
        };
        for change in moves {
            self.apply(change);
        }
        if !self.used[cluster as usize] {
            self.deficient.remove(&(0, cluster));
        }
    }

    /// Cost and moves of sending every row to its next best used cluster; `None` for the only one.
    fn dissolving(&mut self, cluster: u32) -> Option<(f64, Vec<Move>)> {
        let units = &self.units;
        let members = &mut self.members[cluster as usize];
        members.retain(|&unit| units[unit as usize].cluster == cluster);
        members.sort_unstable();
        members.dedup();
        let used = &self.used;
        let wanted = |place: u32| used[place as usize] && place != cluster;
        let space = self.assigner.space;
        let (mut total, mut moves) = (0.0, Vec::new());
        for &number in &self.members[cluster as usize] {
            let unit = self.units[number as usize];
            let site = space.cells().site(unit.cell as usize);
            let next = self
                .tree
                .nearest(space, self.centroids, site, &wanted, None);
            let (cost, place) = next?;
            total += f64::from(unit.rows) * (cost - unit.cost);
            moves.push((number, unit.rows, place, cost));
        }
        Some((total, moves))
    }

    /// Cost and moves of filling the cluster with the rows of least regret; `None` if the others cannot spare enough, or
    /// if it costs at least `limit`.
    fn filling(&self, cluster: u32, limit: f64) -> Option<(f64, Vec<Move>)> {
        let k = self.assigner.k;
        let mut need = k - self.sizes[cluster as usize];
        let surplus: u64 = self.sizes.iter().map(|size| size.saturating_sub(k)).sum();
        if surplus < need {
            return None;
        }
        let (space, tree) = (self.assigner.space, &self.assigner.tree);
        let target = self.centroids.site(cluster as usize);
        let offer = |node: u32| Offer {
            regret: tree.lower_bound(space, node, target) - self.dearest[node as usize],
            is_unit: false,
            number: node,
        };
        let mut offers = BinaryHeap::from([offer(0)]);
        let mut taken: FxHashMap<u32, u64> = FxHashMap::default();
        let (mut total, mut moves) = (0.0, Vec::new());
        while let Some(best) = offers.pop() {
            if total >= limit && best.regret >= 0.0 {
                return None;
            }
            if !best.is_unit {
                let node = tree.nodes[best.number as usize];
                if node.children > 0 {
                    offers.extend([offer(node.children), offer(node.children + 1)]);
                    continue;
                }
                for &cell in &tree.order[node.start as usize..node.end as usize] {
                    self.offer_units(cell, cluster, &mut offers);
                }
                continue;
            }
            let unit = self.units[best.number as usize];
            let given = taken.entry(unit.cluster).or_insert(0);
            let spare = self.sizes[unit.cluster as usize] - k - *given;
            let rows = u64::from(unit.rows).min(spare).min(need);
            if rows == 0 {
                continue;
            }
            *given += rows;
            need -= rows;
            let rows = u32::try_from(rows).unwrap_or(unit.rows);
            total += f64::from(rows) * best.regret;
            moves.push((best.number, rows, cluster, unit.cost + best.regret));
            if need == 0 {
                return Some((total, moves));
            }
        }
        None
    }

    /// Offers the units of a cell whose clusters can spare rows.
    fn offer_units(&self, cell: u32, cluster: u32, offers: &mut BinaryHeap<Offer>) {
        let space = self.assigner.space;
        let site = space.cells().site(cell as usize);
        let mut distance = None;
        let mut number = cell;
        while number != NONE {
            let unit = self.units[number as usize];
            if unit.cluster != cluster && self.sizes[unit.cluster as usize] > self.assigner.k {
                let distance = *distance.get_or_insert_with(|| {
                    space.between(site, self.centroids.site(cluster as usize))
                });
                offers.push(Offer {
                    regret: distance - unit.cost,
                    is_unit: true,
                    number,
                });
            }
            number = unit.next;
        }
    }

    fn apply(&mut self, (number, rows, to, _): Move) {
        let unit = self.units[number as usize];
        let space = self.assigner.space;
        let site = space.cells().site(unit.cell as usize);
        let moved = Unit {
            cluster: to,
            rows,
            // Not by adding a regret: the cost is what the distance is, to the last bit.
            cost: space.between(site, self.centroids.site(to as usize)),
            ..unit
        };
        let moved_number = if rows == unit.rows {
            self.units[number as usize] = moved;
            number
        } else {
            let added = code(self.units.len());
            self.units.push(moved);
            self.units[number as usize].rows -= rows;
            self.units[number as usize].next = added;
            added
        };
        self.members[to as usize].push(moved_number);
        self.resize(unit.cluster, |size| size - u64::from(rows));
        self.resize(to, |size| size + u64::from(rows));
        let mut node = self.assigner.leaf_of[unit.cell as usize] as usize;
        while self.dearest[node] < moved.cost {
            self.dearest[node] = moved.cost;
            node = self.assigner.tree.nodes[node].parent as usize;
        }
    }

    fn resize(&mut self, cluster: u32, change: impl Fn(u64) -> u64) {
        let size = &mut self.sizes[cluster as usize];
        self.deficient.remove(&(*size, cluster));
        *size = change(*size);
        if self.used[cluster as usize] && *size < self.assigner.k {
            self.deficient.insert((*size, cluster));
        }
    }
}

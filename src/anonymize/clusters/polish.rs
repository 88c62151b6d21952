//! The best assignment to an open set of centroids with at least k rows each (algorithms.md B.4, step 3).
//!
//! This is a transportation problem with lower bounds; its constraints are totally unimodular, so whole rows attain the
//! optimum. From the assignment to the nearest centroids, each shortage is made good along shortest paths between
//! clusters, where an edge from a to b is the cheapest change of a row from a to b. Costs stay non-negative under
//! Dijkstra's potentials, and the last path leaves an optimum (successive shortest paths; Ahuja, Magnanti, Orlin 1993,
//! section 9.7).

use super::assignment::Unit;
use super::distance::{Sites, Space};
use super::partition::Part;
use super::points::code;

/// Largest open set that is polished.
pub(super) const MOST_OPEN: usize = 256;
/// Largest table of distances, cells by open centroids (64 MiB).
const MOST_DISTANCES: usize = 8 << 20;

/// The parts of an optimal assignment to the centroids that `units` use; `None` where it would take too much.
///
/// Cost: per shortage of rows, at most k times the open set, a search over the square of the open set and a pass over
/// the members of the clusters on its path.
pub(super) fn polish(
    space: &Space<'_>,
    centroids: &Sites,
    units: &[Unit],
    k: u64,
) -> Option<Vec<Part>> {
    let mut open: Vec<u32> = units.iter().map(|unit| unit.cluster).collect();
    open.sort_unstable();
    open.dedup();
    let cells = space.points.len();
    if open.len() > MOST_OPEN || cells.saturating_mul(open.len()) > MOST_DISTANCES {
        return None;
    }
    let mut transport = Transport::new(
        space,
        &centroids.select(open.iter().map(|&c| c as usize)),
        k,
    );
    while transport.augment() {}
    let mut parts = Vec::new();
    for (cluster, members) in transport.members.iter().enumerate() {
        let class = open[cluster];
        parts.extend(
            members
                .iter()
                .map(|&(cell, rows)| Part { cell, class, rows }),
        );
    }
    Some(parts)
}

struct Transport {
    open: usize,
    k: u64,
    /// Cells by open centroids.
    distances: Vec<f64>,
    /// Cells and rows by cluster, by cell.
    members: Vec<Vec<(u32, u32)>>,
    sizes: Vec<u64>,
    /// Cheapest change of a row between two clusters, and its cell.
    edges: Vec<(f64, u32)>,
    potentials: Vec<f64>,
}

impl Transport {
    fn new(space: &Space<'_>, centroids: &Sites, k: u64) -> Self {
        let open = centroids.len();
        let mut distances = Vec::with_capacity(space.points.len() * open);
        let mut members = vec![Vec::new(); open];
        let mut sizes = vec![0; open];
        for (cell, &rows) in space.points.weights.iter().enumerate() {
            let site = space.cells().site(cell);
            let from = distances.len();
            distances.extend((0..open).map(|place| space.between(site, centroids.site(place))));
            let mut best = 0;
            for place in 1..open {
                if distances[from + place] < distances[from + best] {
                    best = place;
                }
            }
            members[best].push((code(cell), rows));
            sizes[best] += u64::from(rows);
        }
        let mut transport = Self {
            open,
            k,
            distances,
            members,
            sizes,
            edges: vec![(f64::INFINITY, 0); open * open],
            potentials: vec![0.0; open],
        };
        for cluster in 0..open {
            transport.refresh(cluster);
        }
        transport
    }

    /// Recomputes the edges that leave a cluster.
    fn refresh(&mut self, from: usize) {
        let edges = &mut self.edges[from * self.open..(from + 1) * self.open];
        edges.fill((f64::INFINITY, 0));
        for &(cell, _) in &self.members[from] {
            let row = &self.distances[cell as usize * self.open..][..self.open];
            for (edge, distance) in edges.iter_mut().zip(row) {
                let change = distance - row[from];
                if change < edge.0 {
                    *edge = (change, cell);
                }
            }
        }
    }

    /// Sends rows along one shortest path from a cluster with rows to spare to one that lacks some; whether there was one.
    fn augment(&mut self) -> bool {
        let lacks = |sizes: &[u64], cluster: usize| sizes[cluster] < self.k;
        if !(0..self.open).any(|cluster| lacks(&self.sizes, cluster)) {
            return false;
        }
        let (distance, before) = self.shortest();
        let reached = (0..self.open)
            .filter(|&cluster| lacks(&self.sizes, cluster) && distance[cluster].is_finite());
        let Some(end) = reached.min_by(|&left, &right| {
            let whole = |cluster: usize| distance[cluster] + self.potentials[cluster];
            whole(left).total_cmp(&whole(right)).then(left.cmp(&right))
        }) else {
            return false;
        };
        let mut path = vec![end];
        let mut here = end;
        while let Some(from) = before[here] {
            path.push(from);
            here = from;
        }
        path.reverse();
        let mut rows = (self.sizes[here] - self.k).min(self.k - self.sizes[end]);
        for step in path.windows(2) {
            let (_, cell) = self.edges[step[0] * self.open + step[1]];
            rows = rows.min(u64::from(self.rows(step[0], cell)));
        }
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        let cells: Vec<u32> = path
            .windows(2)
            .map(|step| self.edges[step[0] * self.open + step[1]].1)
            .collect();
        for (step, cell) in path.windows(2).zip(cells) {
            self.shift(step[0], cell, rows, false);
            self.shift(step[1], cell, rows, true);
        }
        self.sizes[here] -= u64::from(rows);
        self.sizes[end] += u64::from(rows);
        for (potential, distance) in self.potentials.iter_mut().zip(&distance) {
            if distance.is_finite() {
                *potential += distance;
            }
        }
        for cluster in path {
            self.refresh(cluster);
        }
        true
    }

    /// Reduced distance of each cluster from those with rows to spare, and the cluster before it on its path.
    fn shortest(&self) -> (Vec<f64>, Vec<Option<usize>>) {
        let mut distance = vec![f64::INFINITY; self.open];
        let mut before = vec![None; self.open];
        let mut is_done = vec![false; self.open];
        let sources = self.sizes.iter().zip(&self.potentials);
        for (distance, (&size, potential)) in distance.iter_mut().zip(sources) {
            if size > self.k {
                // The arc from the common source has cost 0 and the source potential 0.
                *distance = (-potential).max(0.0);
            }
        }
        loop {
            let open = (0..self.open).filter(|&c| !is_done[c] && distance[c].is_finite());
            let next = open.min_by(|&left, &right| {
                distance[left]
                    .total_cmp(&distance[right])
                    .then(left.cmp(&right))
            });
            let Some(from) = next else {
                return (distance, before);
            };
            is_done[from] = true;
            for to in (0..self.open).filter(|&to| to != from) {
                let (cost, _) = self.edges[from * self.open + to];
                let reduced = (cost + self.potentials[from] - self.potentials[to]).max(0.0);
                if !is_done[to] && distance[from] + reduced < distance[to] {
                    distance[to] = distance[from] + reduced;
                    before[to] = Some(from);
                }
            }
        }
    }

    fn rows(&self, cluster: usize, cell: u32) -> u32 {
        let members = &self.members[cluster];
        let place = members.binary_search_by_key(&cell, |&(cell, _)| cell);
        place.map_or(0, |place| members[place].1)
    }

    fn shift(&mut self, cluster: usize, cell: u32, rows: u32, is_gain: bool) {
        let members = &mut self.members[cluster];
        match members.binary_search_by_key(&cell, |&(cell, _)| cell) {
            Ok(place) if is_gain => members[place].1 += rows,
            Ok(place) if members[place].1 == rows => {
                members.remove(place);
            }
            Ok(place) => members[place].1 -= rows,
            Err(place) => members.insert(place, (cell, rows)),
        }
    }
}

//! Which of the rows that wait may be published, and as which cohorts.

use std::collections::{BTreeMap, BTreeSet};

use super::cohorts::{Bearer, History, Places, bearer, of_bearers};
use super::update::Updating;
use super::{Index, RowId, SeriesRow, Subject};

/// Rows that are published together.
#[derive(Debug)]
pub(super) struct Group {
    /// The history of its subjects until now; empty if nothing of them was published before.
    pub(super) from: History,
    /// Whether all subjects of that history are in it.
    pub(super) is_whole: bool,
    /// Whose rows they are; nobody where subjects are not guarded.
    pub(super) bearers: BTreeSet<Bearer>,
    /// In which of the sets that were asked for.
    sets: BTreeSet<usize>,
}

/// What of a set of rows is published.
#[derive(Debug)]
pub(super) enum Share {
    /// All or nothing of it, as part of a group.
    Whole(Option<usize>),
    /// The rows named, each as part of a group.
    Some(BTreeMap<RowId, usize>),
}

impl Share {
    /// The group of a row, if it is published.
    pub(super) fn group(&self, row: RowId) -> Option<usize> {
        match self {
            Self::Whole(group) => *group,
            Self::Some(groups) => groups.get(&row).copied(),
        }
    }
}

/// What may be published.
#[derive(Debug)]
pub(super) struct Admission {
    pub(super) groups: Vec<Group>,
    /// By set.
    pub(super) shares: Vec<Share>,
}

/// The rows of the sets by set and bearer.
type RowsOf<'r> = BTreeMap<(usize, Bearer), Vec<&'r SeriesRow>>;

impl<I: Index> Updating<'_, I> {
    /// Decides what may be published of the rows that wait in some classes, one set of rows a class.
    ///
    /// Where rows are guarded, a set is published as a whole if it satisfies the models. Where subjects are, all
    /// subjects of a group were of one cohort before (or of none), and what becomes of them, and of the rest of that
    /// cohort, satisfies the models wherever they have rows. A subject with rows in several sets is published in all of
    /// them together with others of its kind if they suffice, else in the one with most company. Nothing is published
    /// of a subject of which something was erased: that it went and came back would tell it from its cohort.
    pub(super) fn admit(&mut self, sets: &[Vec<&SeriesRow>]) -> Result<Admission, I::Error> {
        if !self.rules.guards_subjects {
            return Ok(by_sets(sets, &self.verdicts(sets)));
        }
        let subjects: BTreeSet<Subject> = sets
            .iter()
            .flatten()
            .filter_map(|row| row.subject)
            .collect();
        let subjects: Vec<Subject> = subjects.into_iter().collect();
        let members = self.index.members(&subjects)?;
        let members = subjects.into_iter().zip(members);
        let members: BTreeMap<Subject, _> = members
            .filter_map(|(one, member)| Some((one, member?)))
            .collect();
        let mut rows: RowsOf<'_> = BTreeMap::new();
        let mut found: BTreeMap<Bearer, (History, BTreeSet<usize>)> = BTreeMap::new();
        for (set, row) in sets
            .iter()
            .enumerate()
            .flat_map(|(set, rows)| rows.iter().map(move |row| (set, *row)))
        {
            let member = row.subject.and_then(|subject| members.get(&subject));
            if member.is_some_and(|member| member.closed) {
                continue;
            }
            let from = member.map(|member| member.cohorts.clone());
            let from = from.unwrap_or_default();
            let entry = found.entry(bearer(row)).or_insert((from, BTreeSet::new()));
            entry.1.insert(set);
            rows.entry((set, bearer(row))).or_default().push(row);
        }
        let mut groups = self.together(&mut found, &rows);
        groups.extend(self.apart(found, &rows));
        let missing = members.values().filter(|member| member.misses_someone);
        let missing = missing.map(|member| member.cohorts.clone()).collect();
        let groups = self.keep_cohorts(groups, &missing)?;
        Ok(by_rows(groups, &rows, sets.len()))
    }

    /// Groups of subjects that have rows in the same several sets, where they satisfy the models in each.
    fn together(
        &self,
        found: &mut BTreeMap<Bearer, (History, BTreeSet<usize>)>,
        rows: &RowsOf<'_>,
    ) -> Vec<Group> {
        let mut alike: BTreeMap<(History, BTreeSet<usize>), BTreeSet<Bearer>> = BTreeMap::new();
        for (bearer, key) in found.iter().filter(|(_, (_, sets))| sets.len() > 1) {
            alike.entry(key.clone()).or_default().insert(*bearer);
        }
        let groups = alike.into_iter().map(|((from, sets), bearers)| Group {
            from,
            bearers,
            sets,
            is_whole: false,
        });
        let groups = self.sound(groups.collect(), rows);
        for bearer in groups.iter().flat_map(|group| &group.bearers) {
            found.remove(bearer);
        }
        groups
    }

    /// Groups of one set each: every subject goes where most of its cohort go.
    fn apart(
        &self,
        found: BTreeMap<Bearer, (History, BTreeSet<usize>)>,
        rows: &RowsOf<'_>,
    ) -> Vec<Group> {
        let mut company: BTreeMap<(History, usize), usize> = BTreeMap::new();
        for (from, sets) in found.values() {
            for set in sets {
                *company.entry((from.clone(), *set)).or_insert(0) += 1;
            }
        }
        let mut pools: BTreeMap<(usize, History), BTreeSet<Bearer>> = BTreeMap::new();
        for (bearer, (from, sets)) in found {
            // Ties go to the first set.
            let best = sets
                .into_iter()
                .rev()
                .max_by_key(|set| company.get(&(from.clone(), *set)));
            if let Some(set) = best {
                pools.entry((set, from)).or_default().insert(bearer);
            }
        }
        let groups = pools.into_iter().map(|((set, from), bearers)| Group {
            from,
            bearers,
            sets: BTreeSet::from([set]),
            is_whole: false,
        });
        self.sound(groups.collect(), rows)
    }

    /// Those whose new rows satisfy the models in every set.
    fn sound(&self, mut groups: Vec<Group>, rows: &RowsOf<'_>) -> Vec<Group> {
        groups.retain(|group| self.is_large(group.bearers.len()));
        let (mut owners, mut asked) = (Vec::new(), Vec::new());
        for (place, group) in groups.iter().enumerate() {
            for &set in &group.sets {
                let of_set = group
                    .bearers
                    .iter()
                    .filter_map(|one| rows.get(&(set, *one)));
                asked.push(of_set.flatten().copied().collect());
                owners.push(place);
            }
        }
        let verdicts = self.verdicts(&asked);
        let failed: BTreeSet<usize> = owners
            .into_iter()
            .zip(verdicts)
            .filter_map(|(owner, holds)| (!holds).then_some(owner))
            .collect();
        let groups = groups.into_iter().enumerate();
        let sound = groups.filter(|(place, _)| !failed.contains(place));
        sound.map(|(_, group)| group).collect()
    }

    /// Whether so many subjects may be enough: asked before anything is read or judged.
    fn is_large(&self, bearers: usize) -> bool {
        #[cfg(test)]
        if self.rules.broken == Some(super::rules::Broken::Publish) {
            return true;
        }
        bearers as u64 >= self.rules.judge.least_subjects()
    }

    /// The groups that may come apart from others of their history: they, and what stays of those, satisfy the models
    /// wherever they have rows.
    fn keep_cohorts(
        &mut self,
        groups: Vec<Group>,
        missing: &BTreeSet<History>,
    ) -> Result<Vec<Group>, I::Error> {
        let (mut kept, leaving): (Vec<Group>, Vec<Group>) =
            groups.into_iter().partition(|group| group.from.is_empty());
        let histories = leaving.iter().map(|group| group.from.clone()).collect();
        let mut places = self.places_of(&histories, |_, _| false)?;
        let mut of_history: BTreeMap<History, Vec<Group>> = BTreeMap::new();
        for group in leaving {
            of_history
                .entry(group.from.clone())
                .or_default()
                .push(group);
        }
        for (history, groups) in of_history {
            let places = places.remove(&history).unwrap_or_default();
            let misses_someone = missing.contains(&history);
            kept.extend(self.may_leave(groups, &places, misses_someone));
        }
        Ok(kept)
    }

    fn may_leave(
        &self,
        mut groups: Vec<Group>,
        places: &Places<bool>,
        misses_someone: bool,
    ) -> Vec<Group> {
        // The largest first: the smallest are the first to stay if the rest is too small.
        groups.sort_by_key(|group| std::cmp::Reverse(group.bearers.len()));
        let holds = |bearers: &BTreeSet<Bearer>| {
            let parts: Vec<Vec<&SeriesRow>> = places
                .values()
                .map(|rows| of_bearers(rows, bearers))
                .collect();
            self.verdicts(&parts).into_iter().all(|holds| holds)
        };
        groups.retain(|group| holds(&group.bearers));
        let all = places.values().flat_map(|rows| rows.keys().copied());
        let mut rest: BTreeSet<Bearer> = all.collect();
        for bearer in groups.iter().flat_map(|group| &group.bearers) {
            rest.remove(bearer);
        }
        // The rest must not be those alone who were erased.
        let is_sound = |rest: &BTreeSet<Bearer>| {
            if rest.is_empty() {
                !misses_someone
            } else {
                holds(rest)
            }
        };
        while !is_sound(&rest) {
            let Some(group) = groups.pop() else {
                break;
            };
            rest.extend(group.bearers);
        }
        if let [group] = &mut groups[..] {
            group.is_whole = rest.is_empty();
        }
        groups
    }

    /// What the models say of groups of rows.
    fn verdicts(&self, groups: &[Vec<&SeriesRow>]) -> Vec<bool> {
        #[cfg(test)]
        if self.rules.broken == Some(super::rules::Broken::Publish) {
            return vec![true; groups.len()];
        }
        self.rules.judge.holds(groups)
    }
}

fn by_sets(sets: &[Vec<&SeriesRow>], verdicts: &[bool]) -> Admission {
    let (mut groups, mut shares) = (Vec::new(), Vec::with_capacity(sets.len()));
    for (set, (rows, holds)) in sets.iter().zip(verdicts).enumerate() {
        let is_published = *holds && !rows.is_empty();
        shares.push(Share::Whole(is_published.then_some(groups.len())));
        if is_published {
            groups.push(Group {
                from: History::new(),
                is_whole: false,
                bearers: BTreeSet::new(),
                sets: BTreeSet::from([set]),
            });
        }
    }
    Admission { groups, shares }
}

fn by_rows(groups: Vec<Group>, rows: &RowsOf<'_>, sets: usize) -> Admission {
    let mut shares = vec![BTreeMap::new(); sets];
    for (number, group) in groups.iter().enumerate() {
        for &set in &group.sets {
            let of_set = group
                .bearers
                .iter()
                .filter_map(|one| rows.get(&(set, *one)));
            shares[set].extend(of_set.flatten().map(|row| (row.id, number)));
        }
    }
    Admission {
        groups,
        shares: shares.into_iter().map(Share::Some).collect(),
    }
}

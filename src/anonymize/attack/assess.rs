//! All attacks on one release.

use super::inference::joint;
use super::labels::Labels;
use super::linkage::linkage;
use super::matching::{Matched, Matching, count, unreadable};
use super::reader::Classes;
use super::report::{AttackReport, UndeclaredColumn, UndeclaredReport};
use super::targets::{People, Search};
use super::undeclared::undeclared;
use crate::anonymize::release::Rendered;
use crate::anonymize::table::{Column, Schema, Table};
use crate::declaration::{AttackDemand, Representation, Role};
use crate::fault::{Fault, FaultCode};

/// Thresholds of skewness.
const SKEWED: [f64; 4] = [0.5, 0.75, 0.9, 0.99];
/// Share of rows that a column may single out before it is flagged, where the demand says nothing.
const LIMIT: f64 = 0.05;

/// A release and what is known beside it.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The attributes as they were when the release was made.
    pub schema: &'a Schema,
    /// Released rows, masked ones left out; columns by attribute, absent where not released.
    pub released: &'a Table,
    /// The rows that it was made of, as far as they are still there.
    pub raw: &'a Table,
    /// Known people; absent: the rows themselves.
    pub people: Option<&'a People>,
    /// Fewest people that a figure may be over, at least 2.
    pub k: u64,
    /// What released rows bear where they were recoded class by class; absent: labels of a policy.
    pub representation: Option<Representation>,
    /// The raw rows recoded once more as the release was, where that can be done.
    pub recoded: Option<&'a Rendered>,
    /// Fewest subjects of a class that the models of the release allow; 1 if they say nothing.
    pub least_size: u64,
    /// How many rows that the release was made of are gone; absent if that is not known.
    pub erased_rows: Option<u64>,
}

/// Attacks a release.
///
/// Cost: a pass over released and raw rows, and per set of known attributes people times classes / 64; at most some
/// seconds, for which rows of the dataset are sampled.
///
/// # Errors
/// A column that is not released is asked about; there are fewer than k people, or too many for what is asked.
pub fn assess(scene: &Scene<'_>, demand: &AttackDemand) -> Result<AttackReport, Vec<Fault>> {
    let attributes = scene.schema.attributes();
    let with_role = |role| {
        let positions = scene.schema.with_role(role);
        let released = positions.filter(|&position| scene.released.columns[position].is_some());
        released.collect::<Vec<usize>>()
    };
    let (quasi, sensitive) = (
        with_role(Role::QuasiIdentifying),
        with_role(Role::Sensitive),
    );
    let asked = asked_columns(scene, demand)?;
    let name = |position: usize| attributes[position].declaration.name.clone();
    let released = |position: usize| scene.released.columns[position].as_ref();
    let classes = Classes::group(scene.released, &quasi);
    let labels: Vec<Labels> = quasi
        .iter()
        .filter_map(|&position| {
            let of_people = scene.people.map(|people| &people.table);
            let known = [Some(scene.raw), of_people].into_iter().flatten();
            let known = known.filter_map(|table| table.columns[position].as_ref());
            Some(Labels::read(
                released(position)?,
                &known.collect::<Vec<&Column>>(),
                &attributes[position],
                scene.representation,
            ))
        })
        .collect();
    let search = Search {
        scene,
        quasi: &quasi,
        classes: &classes,
        labels: &labels,
    };
    let truth = search.truth();
    let sizes = search.sizes(&truth);
    let sets = number_of_sets(quasi.len(), demand.subsets_up_to);
    let (people, report) = search.people(&truth, sets)?;
    let regions = classes.regions(&labels);
    let matched = regions.as_ref().map(|regions| {
        let matching = Matching {
            search: &search,
            regions,
            sizes: &sizes.least,
            people: &people,
            step: usize::try_from(report.step).unwrap_or(usize::MAX),
        };
        matching.run(demand, &sensitive)
    });
    let not_simulated = matched.is_none().then(|| unreadable(scene.representation));
    let Matched {
        simulation,
        knowledge,
        noise,
        inference,
    } = matched.unwrap_or_default();
    let counts = |position: usize| {
        let codes = released(position).map_or(&[][..], |column| &column.codes[..]);
        count(&classes, codes)
    };
    let columns: Vec<&[u32]> = sensitive
        .iter()
        .filter_map(|&position| released(position).map(|column| &column.codes[..]))
        .collect();
    Ok(AttackReport {
        k: scene.k,
        released_rows: scene.released.rows as u64,
        classes: classes.rows.len() as u64,
        counted: sizes.counted,
        linkage: linkage(&sizes.least, &sizes.most, scene.k, &demand.taus).into(),
        homogeneity: sensitive
            .iter()
            .map(|&position| (name(position), counts(position).homogeneity()))
            .collect(),
        joint_homogeneity: (columns.len() > 1)
            .then(|| count(&classes, &joint(&columns)).homogeneity()),
        skewness: sensitive
            .iter()
            .map(|&position| {
                let counts = counts(position);
                let shares = SKEWED.map(|tau| (tau.to_string(), counts.skewness(tau)));
                (name(position), shares.into_iter().collect())
            })
            .collect(),
        people: report,
        distance_linkage: None,
        simulation,
        not_simulated,
        inference,
        knowledge,
        noise,
        undeclared: undeclared_report(scene, demand, &classes, &asked),
    })
}

/// Sets of one to `most` of `attributes`, and the set of all.
fn number_of_sets(attributes: usize, most: usize) -> u64 {
    let (mut sum, mut choose) = (1_u64, 1_u64);
    for taken in 0..most.min(attributes) {
        choose = choose * (attributes - taken) as u64 / (taken as u64 + 1);
        sum += choose;
    }
    sum
}

/// Positions of the columns asked about: all released ones that are no quasi-identifiers and no tokens, unless some are
/// named. Tokens tell rows apart by design, whatever else is known.
fn asked_columns(scene: &Scene<'_>, demand: &AttackDemand) -> Result<Vec<usize>, Vec<Fault>> {
    let is_released = |position: usize| scene.released.columns[position].is_some();
    let role = |position: usize| scene.schema.attributes()[position].declaration.role;
    let named = demand.undeclared.as_ref();
    let Some(names) = named.and_then(|named| named.columns.as_ref()) else {
        let all = 0..scene.schema.attributes().len();
        let others = all.filter(|&position| {
            !matches!(role(position), Role::QuasiIdentifying | Role::Identifying)
        });
        return Ok(others.filter(|&position| is_released(position)).collect());
    };
    let mut faults = Vec::new();
    let mut found = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let (code, detail) = match scene.schema.position(name) {
            Some(position) if role(position) == Role::QuasiIdentifying => (
                FaultCode::AttributeRole,
                "the attribute is a declared quasi-identifier",
            ),
            Some(position) if role(position) == Role::Identifying && is_released(position) => (
                FaultCode::AttributeRole,
                "the release has tokens in the place of the attribute, which tell rows apart by design",
            ),
            Some(position) if is_released(position) => {
                found.push(position);
                continue;
            }
            _ => (
                FaultCode::UnknownAttribute,
                "the release has no such column",
            ),
        };
        let pointer = format!("/undeclared/columns/{index}");
        faults.push(Fault::at(pointer, code, detail));
    }
    if faults.is_empty() {
        Ok(found)
    } else {
        Err(faults)
    }
}

fn undeclared_report(
    scene: &Scene<'_>,
    demand: &AttackDemand,
    classes: &Classes,
    asked: &[usize],
) -> UndeclaredReport {
    let limit = demand.undeclared.as_ref().and_then(|named| named.limit);
    let limit = limit.unwrap_or(LIMIT);
    let columns = asked
        .iter()
        .filter_map(|&position| scene.released.columns[position].as_ref());
    let columns: Vec<&[u32]> = columns.map(|column| &column.codes[..]).collect();
    let (unique, found) = undeclared(&classes.of_row, &columns, limit);
    let attributes = scene.schema.attributes();
    UndeclaredReport {
        unique,
        limit,
        columns: found
            .into_iter()
            .map(|found| UndeclaredColumn {
                column: attributes[asked[found.column]].declaration.name.clone(),
                unique: found.unique,
                flagged: found.is_flagged,
            })
            .collect(),
    }
}

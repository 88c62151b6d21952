//! Numbers split at points, one list of points per level, such as [`grow`](super::grown::grow) finds.
//!
//! The points of a level are among those of the finer level before, so every interval is a union of whole finer ones. The
//! outermost intervals are open: every number has its place, also one that comes later. Labels are those of
//! `intervals`: `<20`, `[20, 35)`, `35+`, and a whole number of an `integer` column that is alone in its interval.

use rust_decimal::Decimal;
use serde_json::Number;

use super::Uncovered;
use super::encode::Chain;
use super::intervals::{between_label, number_of};
use crate::declaration::{AttributeDeclaration, ValueType, exact};
use crate::fault::{Fault, FaultCode, Faults};

/// Most points of one level.
const MOST_POINTS: usize = 10_000;
/// Most levels between the value and `*`.
const MOST_LEVELS: usize = 50;

/// Points per level, finest level first, each list strictly ascending.
#[derive(Debug, Clone)]
pub(super) struct Splits {
    is_integer: bool,
    points: Vec<Vec<Decimal>>,
}

/// A node: what values it holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// One value, as written.
    Value(Box<str>),
    /// How many points of its level are not above its numbers.
    Interval(usize),
}

impl Splits {
    /// Compiles a declaration of kind `splits`; pushes every fault of it.
    pub(super) fn compile(
        points: &[Vec<Number>],
        attribute: &AttributeDeclaration,
        pointer: &str,
        faults: &mut Faults,
    ) -> Option<Self> {
        let before = faults.count();
        let mut push = |place: String, code, detail: &str| {
            faults.push(Fault::at(format!("{pointer}/{place}"), code, detail));
        };
        if !matches!(
            attribute.value_type,
            ValueType::Integer | ValueType::Decimal
        ) {
            let detail = "splits need numbers: declare `type`: `integer` or `decimal`";
            push("kind".into(), FaultCode::TypeConflict, detail);
        }
        if !(1..=MOST_LEVELS).contains(&points.len()) {
            let detail = format!("1 to {MOST_LEVELS} lists of points are wanted here");
            push("points".into(), FaultCode::OutOfRange, &detail);
        }
        let mut read: Vec<Vec<Decimal>> = Vec::with_capacity(points.len());
        for (level, listed) in points.iter().enumerate() {
            if !(1..=MOST_POINTS).contains(&listed.len()) {
                let detail = format!("1 to {MOST_POINTS} points are wanted here");
                push(format!("points/{level}"), FaultCode::OutOfRange, &detail);
            }
            let mut numbers: Vec<Decimal> = Vec::with_capacity(listed.len());
            for (position, number) in listed.iter().enumerate() {
                let place = format!("points/{level}/{position}");
                let Some(number) = exact(number) else {
                    let detail = "a number of at most 28 decimal digits is wanted here";
                    push(place, FaultCode::OutOfRange, detail);
                    continue;
                };
                if numbers.last().is_some_and(|last| *last >= number) {
                    let detail = "each point must be above the one before";
                    push(place, FaultCode::OutOfRange, detail);
                } else if let Some(finer) = read.last()
                    && finer.binary_search(&number).is_err()
                {
                    let detail = "each point must be one of the finer level's, the list before";
                    push(place, FaultCode::HierarchyNotNested, detail);
                }
                numbers.push(number.normalize());
            }
            // Sorted whatever the caller wrote, so that the next list is judged by its own faults alone.
            numbers.sort_unstable();
            read.push(numbers);
        }
        let is_integer = attribute.value_type == ValueType::Integer;
        (faults.count() == before).then_some(Self {
            is_integer,
            points: read,
        })
    }
}

impl Chain for Splits {
    type Node = Part;

    fn levels(&self) -> usize {
        self.points.len() + 2
    }

    fn nodes(&self, value: &str) -> Result<Vec<Part>, Uncovered> {
        let number = number_of(value, self.is_integer)?;
        let place = |points: &Vec<Decimal>| points.partition_point(|point| *point <= number);
        let intervals = self
            .points
            .iter()
            .map(|points| Part::Interval(place(points)));
        Ok(std::iter::once(Part::Value(Box::from(value)))
            .chain(intervals)
            .collect())
    }

    fn label(&self, level: usize, node: &Part) -> Box<str> {
        let place = match node {
            Part::Value(text) => return text.clone(),
            Part::Interval(place) => *place,
        };
        let points = &self.points[level - 1];
        let from = place.checked_sub(1).map(|below| points[below]);
        match (from, points.get(place)) {
            (Some(from), Some(until)) => between_label(from, *until, self.is_integer),
            (Some(from), None) => format!("{from}+").into(),
            (None, Some(until)) => format!("<{until}").into(),
            (None, None) => Box::from(super::TOP),
        }
    }
}

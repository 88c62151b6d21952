//! Calendar levels: `2020-03-14`, `2020-03`, `2020-Q1`, `2020`, `2020s`, `*`.
//!
//! Every level is a function of the next finer one, so the levels nest. `day` is level 0 itself, unless the format has a
//! time of day: then level 0 is the moment and `day` is a level above it.

use chrono::{Datelike, NaiveDate};

use super::Uncovered;
use super::encode::Chain;
use crate::declaration::{AttributeDeclaration, DateLevel, ValueType, has_time_of_day};
use crate::fault::{Fault, FaultCode, Faults};

/// Calendar levels above the value.
#[derive(Debug, Clone)]
pub(super) struct Dates {
    format: String,
    levels: Vec<DateLevel>,
}

impl Dates {
    pub(super) fn compile(
        levels: &[DateLevel],
        attribute: &AttributeDeclaration,
        pointer: &str,
        faults: &mut Faults,
    ) -> Option<Self> {
        let before = faults.count();
        if attribute.value_type != ValueType::Date {
            let detail =
                "calendar levels need `type`: `date`, which this attribute does not declare";
            let place = format!("{pointer}/kind");
            faults.push(Fault::at(place, FaultCode::TypeConflict, detail));
        }
        if levels.is_empty() {
            let detail = "at least one calendar level is needed";
            let place = format!("{pointer}/levels");
            faults.push(Fault::at(place, FaultCode::OutOfRange, detail));
        }
        for position in 1..levels.len() {
            if levels[position] <= levels[position - 1] {
                let detail = "each calendar level must be coarser than the one before";
                let place = format!("{pointer}/levels/{position}");
                faults.push(Fault::at(place, FaultCode::HierarchyNotNested, detail));
            }
        }
        let format = attribute.date_format().to_owned();
        let is_value = |level: &DateLevel| *level == DateLevel::Day && !has_time_of_day(&format);
        let levels = levels.iter().copied().filter(|level| !is_value(level));
        let levels = levels.collect();
        (faults.count() == before).then_some(Self { format, levels })
    }
}

impl Chain for Dates {
    type Node = Box<str>;

    fn levels(&self) -> usize {
        self.levels.len() + 2
    }

    fn nodes(&self, value: &str) -> Result<Vec<Box<str>>, Uncovered> {
        let date =
            NaiveDate::parse_from_str(value, &self.format).map_err(|_| Uncovered::Invalid)?;
        let above = self.levels.iter().map(|level| label(date, *level).into());
        Ok(std::iter::once(Box::from(value)).chain(above).collect())
    }

    fn label(&self, _: usize, node: &Box<str>) -> Box<str> {
        node.clone()
    }
}

fn label(date: NaiveDate, level: DateLevel) -> String {
    let year = date.year();
    match level {
        DateLevel::Day => format!("{year:04}-{:02}-{:02}", date.month(), date.day()),
        DateLevel::Month => format!("{year:04}-{:02}", date.month()),
        DateLevel::Quarter => format!("{year:04}-Q{}", date.month0() / 3 + 1),
        DateLevel::Year => format!("{year:04}"),
        DateLevel::Decade => format!("{:04}s", year.div_euclid(10) * 10),
    }
}

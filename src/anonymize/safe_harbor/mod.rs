//! Indicators and builders for HIPAA's Safe Harbor method, 45 CFR 164.514(b)(2).
//!
//! The rule names 18 kinds of identifiers to remove. [`indicators`] says which columns *look* like one, by name or by
//! values; it is a list of things to look at and never a verdict: a column without an indicator may identify, one with
//! an indicator may not, and "no actual knowledge" (164.514(b)(2)(ii)) is for a person to judge. An indicator holds
//! names, kinds and shares, never a cell value.
//!
//! The builders make the two generalizations the rule describes: ages of 90 and over as one category, and the first
//! three digits of a ZIP code, with 000 for areas of at most 20,000 people by a list with a version ([`Zip3List`]).

mod builders;
mod column_names;
mod indicator;
mod name_rules;
mod values;
mod zip3;

pub use builders::{age_hierarchy, zip3_hierarchy};
pub use indicator::{Category, Column, Evidence, Indicator, Sign, indicators};
pub use zip3::{NotAZip, Zip3List, Zip3Width, zip3, zip3_levels};

//! Datasets: attributes, their roles, types and hierarchies.

mod hierarchy;
mod parse;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use utoipa::ToSchema;

use super::Amount;
use crate::anonymize::safe_harbor::{Zip3List, Zip3Width};
use crate::fault::Fault;

/// A dataset as its owner declares it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DatasetDeclaration {
    /// Free name, 1 to 200 characters.
    pub name: String,
    /// At least one quasi-identifying attribute; names are unique.
    pub attributes: Vec<AttributeDeclaration>,
    /// Role of attributes that name none and of uploaded columns that are not declared; absent: both are refused.
    #[serde(default)]
    pub default_role: Option<Role>,
    /// What perturbed jobs may spend, all together, as long as the dataset is there; absent: it is counted and not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy_budget: Option<PrivacyLoss>,
}

/// A loss of privacy: what a job spends, what all have spent, or a budget that they must not exceed. Losses add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct PrivacyLoss {
    /// 0 to 1000000.
    #[schema(value_type = f64)]
    pub epsilon: Amount,
    /// 0 to 1; 0 if absent.
    #[serde(default)]
    #[schema(value_type = f64, required = false)]
    pub delta: Amount,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AttributeDeclaration {
    /// Column name, as in the header of every upload.
    pub name: String,
    /// What the column is to an attacker; in a request, `default_role` if absent.
    #[schema(required = false)]
    pub role: Role,
    /// This identifying column names the person: every count is then over distinct subjects.
    #[serde(default)]
    pub subject: bool,
    /// How cells are read; never guessed.
    #[serde(default, rename = "type")]
    pub value_type: ValueType,
    /// Date format (`strftime`) of a `date` column; `%Y-%m-%d` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Cell texts that mean missing.
    #[serde(default = "AttributeDeclaration::only_empty")]
    pub missing: Vec<String>,
    /// Strip outer white space from cells, and from the values of the hierarchy and of `order`.
    #[serde(default)]
    pub trim: bool,
    /// The order of text values, for `ordered` distances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<String>>,
    /// How values are generalised; absent: two levels, the value and `*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hierarchy: Option<HierarchyDeclaration>,
}

impl AttributeDeclaration {
    /// The default of `missing`: only the empty cell.
    #[must_use]
    pub fn only_empty() -> Vec<String> {
        vec![String::new()]
    }

    /// The format of a `date` column's cells (`strftime`).
    #[must_use]
    pub fn date_format(&self) -> &str {
        self.format.as_deref().unwrap_or("%Y-%m-%d")
    }
}

/// What a column is to an attacker; exactly one each (user-cases D8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Names a person; never released.
    Identifying,
    /// Known to others; generalised.
    QuasiIdentifying,
    /// What nobody may learn about a person; released as it is.
    Sensitive,
    /// Neither; released as it is.
    Insensitive,
}

/// How the cells of a column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValueType {
    /// Compared character by character; `01234` is not `1234`.
    #[default]
    Text,
    /// A whole number.
    Integer,
    /// A decimal number, kept exactly.
    Decimal,
    /// A calendar date in the declared format.
    Date,
}

/// How a column is generalised. Level 0 is always the value, the last level always `*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HierarchyDeclaration {
    /// One line per value, the value first, coarser to the right (ARX files unchanged); `text` or `rows`, not both.
    Table {
        /// Between the levels of a line of `text`; `;` if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delimiter: Option<String>,
        /// The file's text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The same, split.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rows: Option<Vec<Vec<String>>>,
    },
    /// Half-open intervals `[a, b)` anchored at `origin`, one level per width.
    Intervals {
        /// Where an interval begins.
        #[schema(value_type = f64)]
        origin: Number,
        /// Widths, each a whole multiple of the one before.
        #[schema(value_type = Vec<f64>)]
        widths: Vec<Number>,
        /// Least legal value, inclusive.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<f64>)]
        lower: Option<Number>,
        /// Upper end of the legal values, exclusive.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<f64>)]
        upper: Option<Number>,
        /// Values from here on share one bucket (`90+`) on every level above 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<f64>)]
        top_from: Option<Number>,
        /// Values below share one bucket (`<18`) on every level above 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<f64>)]
        bottom_below: Option<Number>,
    },
    /// Keeps the first characters and masks the rest, one `*` each. The first entry is level 0 and so the longest legal
    /// value: `[5, 3, 1]` is four levels and refuses `17011-1402`; `[10, 5, 3]` takes both.
    Prefix {
        /// Characters kept, strictly falling, one level each; values longer than the first entry are refused.
        keep: Vec<usize>,
    },
    /// US ZIP codes as HIPAA's Safe Harbor method wants them: the code, its first three digits (000 for the small areas
    /// of a list), `*`. A value that is not `ddddd`, `ddddd-dddd` or `ddddddddd` has no place.
    Zip3 {
        /// Which areas are small; the list of the 2020 census if absent.
        #[serde(default = "Zip3List::newest")]
        #[schema(required = false)]
        list: Zip3List,
        /// How an area is written.
        #[serde(default)]
        width: Zip3Width,
    },
    /// Calendar levels of a `date` column.
    Dates {
        /// Finest first; `day` is level 0 itself, unless the format has a time of day.
        levels: Vec<DateLevel>,
    },
    /// Numbers split at points; the outermost intervals are open, so every number has its place.
    Splits {
        /// One list per level, finest first, ascending, each among the points of the list before.
        #[schema(value_type = Vec<Vec<f64>>)]
        points: Vec<Vec<Number>>,
    },
    /// A nested tree of labels; its leaves are the values. A leaf nearer to the root stays itself on the levels below.
    Taxonomy {
        /// The root's label (released as `*`).
        label: String,
        /// Its children.
        #[serde(default)]
        children: Vec<TaxonomyNode>,
    },
}

impl PrivacyLoss {
    /// What is left of it after another; 0 where that is more.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self {
            epsilon: self.epsilon.less(other.epsilon),
            delta: self.delta.less(other.delta),
        }
    }
}

/// A calendar level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum DateLevel {
    Day,
    Month,
    Quarter,
    Year,
    Decade,
}

/// A node of a taxonomy; without children it is a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaxonomyNode {
    /// Label; for a leaf, the raw value.
    pub label: String,
    /// Children, finer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(no_recursion)]
    pub children: Vec<TaxonomyNode>,
}

impl DatasetDeclaration {
    /// Parses a request body, collecting every fault (shape, names, roles, types, hierarchies as trees).
    ///
    /// # Errors
    /// All faults found (at most 200, then their number), attribute by attribute, then those between attributes.
    pub fn parse(body: &Value) -> Result<Self, Vec<Fault>> {
        parse::dataset(body)
    }
}

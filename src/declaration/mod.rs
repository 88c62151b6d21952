//! What callers declare: datasets, hierarchies, demands on a job. The canonical, already checked form.
//!
//! Requests are parsed from a JSON value field by field ([`DatasetDeclaration::parse`], [`Demand::parse`]), so that one
//! answer holds every fault with its pointer. What comes out is stored as it is (`jsonb`) and read back by `serde`.
//! This layer is the lowest: it knows no table, no database and no HTTP. Parsing calls up in one place, to compile
//! hierarchies, because their faults and their level counts belong into the same answer.

mod amount;
mod attack;
mod compare;
mod cursor;
mod dataset;
mod date_format;
mod demand;
mod growth;
mod number;
mod object;
mod utility;
mod words;

pub use amount::Amount;
pub use attack::{AttackDemand, UndeclaredDemand};
pub use compare::{CompareDemand, ComparedMethod};
pub use cursor::{Cursor, take_dataset_id};
pub use dataset::{
    AttributeDeclaration, DatasetDeclaration, DateLevel, HierarchyDeclaration, PrivacyLoss, Role,
    TaxonomyNode, ValueType,
};
pub(crate) use date_format::{has_offset, has_time_of_day, seconds_told};
pub use demand::{
    Aggregate, CLASS_ID, ClassificationDemand, ClusterSettings, Demand, DisclosureMode, Distance,
    EntropyForm, Epsilon, Identifiers, Lambda, Lambdas, Levels, LocalPerturbation, LossDemand,
    LossForm, MeasureDemand, MissingSensitive, Objective, Optimizer, Perturbation,
    PopulationDemand, Preset, PrivacyModel, ROW_TOKEN, Recoding, Recommend, Reference,
    ReleaseChoice, ReleaseDemand, ReportedMeasure, Representation, RowOrder, Score, Search,
    SearchMethod, SeriesDemand, SeriesGuard, SeriesMode, SeriesRecoding, SuppressedRows,
};
pub use growth::GrowthDemand;
pub use number::Fraction;
pub(crate) use number::{exact, exact_text};
pub use object::Object;
pub use utility::{FeatureSet, ModelKind, UtilityDemand};
pub use words::Words;

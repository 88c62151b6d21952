//! Demands on a series: a policy that is kept up to date.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::invariance::{self, Invariance};
use super::privacy::binding_models;
use super::{PrivacyModel, Score};
use crate::declaration::cursor::Cursor;
use crate::declaration::object::Object;
use crate::declaration::words::Words;
use crate::declaration::{DatasetDeclaration, Fraction};
use crate::fault::{Fault, FaultCode, Faults};

const FIELDS: &[&str] = &[
    "name",
    "privacy",
    "suppression_limit",
    "recoding",
    "score",
    "specialize_factor",
    "max_pending_releases",
    "guard",
    "row_linkage",
    "seed",
    "mode",
    "m",
    "attribute",
];

/// Column of the rows' tokens in the releases of a series with `row_linkage`.
pub const ROW_TOKEN: &str = "row_token";

/// Most characters of a name.
const NAME_CHARACTERS: usize = 200;

/// Body of `POST /v1/series` without `dataset_id` and `name`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SeriesDemand {
    /// At least one model that bounds the size of a class; all must hold in every release, and in what any two releases
    /// differ by. Absent with `m_invariance`, which names its own.
    #[schema(required = false)]
    pub privacy: Vec<PrivacyModel>,
    /// Largest share of the rows that the first release may leave out, inclusive.
    #[schema(value_type = f64, required = false, minimum = 0, maximum = 1)]
    pub suppression_limit: Fraction,
    /// How values are recoded: by a cut through each hierarchy.
    #[schema(required = false)]
    pub recoding: SeriesRecoding,
    /// What decides between two nodes to specialise or to generalise.
    #[schema(required = false)]
    pub score: Score,
    /// A node is specialised when all its classes have this many times the least class size, 1 to 1,000.
    #[schema(required = false, minimum = 1, maximum = 1000)]
    pub specialize_factor: u32,
    /// Releases that a row may wait for before classes are generalised for it, up to 10,000.
    #[schema(required = false, maximum = 10_000)]
    pub max_pending_releases: u32,
    /// Whose history is guarded over all releases together. `subjects` (where the dataset declares one): all rows of a
    /// person, over all batches; `rows`: each row by itself, and whoever knows several rows of one person and that its
    /// sensitive value stays the same may intersect their groups.
    #[schema(required = false)]
    #[serde(default)]
    pub guard: SeriesGuard,
    /// Whether rows bear a keyed token, in a last column `row_token`, that is the same in every release of the series.
    #[schema(required = false)]
    pub row_linkage: bool,
    /// Seed of the order of rows.
    #[schema(required = false)]
    pub seed: u64,
    /// How releases are kept apart.
    #[serde(default)]
    #[schema(required = false)]
    pub mode: SeriesMode,
    /// Rows with pairwise different sensitive values that every class has at least (`m_invariance` only), 2 to 1,000.
    #[serde(default)]
    #[schema(minimum = 2, maximum = 1000)]
    pub m: Option<u64>,
    /// The sensitive attribute of `m_invariance`; absent: the only one.
    #[serde(default)]
    pub attribute: Option<String>,
}

/// Whose history a series guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesGuard {
    /// That of each subject, with all its rows.
    Subjects,
    /// That of each row.
    #[default]
    Rows,
}

/// How the releases of a series are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesMode {
    /// Rows of one history satisfy the models by themselves; all rows are as they came.
    #[default]
    Refinement,
    /// Every class has `m` different sensitive values, the same ones for a person in every release; counterfeit rows stand
    /// for values that nobody bears any more. Takes no `privacy`.
    MInvariance,
}

const MODES: Words<SeriesMode> = Words {
    noun: "mode of a series",
    legal: &[
        ("refinement", SeriesMode::Refinement),
        ("m_invariance", SeriesMode::MInvariance),
    ],
    planned: &[],
};

/// How a series recodes values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesRecoding {
    /// A cut through each hierarchy, the same for all rows.
    #[default]
    Subtree,
}

const RECODINGS: Words<SeriesRecoding> = Words {
    noun: "recoding of a series",
    legal: &[("subtree", SeriesRecoding::Subtree)],
    planned: &["full_domain", "local", "microaggregation"],
};

const GUARDS: Words<SeriesGuard> = Words {
    noun: "guard",
    legal: &[
        ("subjects", SeriesGuard::Subjects),
        ("rows", SeriesGuard::Rows),
    ],
    planned: &[],
};

const SCORES: Words<Score> = Words {
    noun: "score",
    legal: &[("information", Score::Information), ("loss", Score::Loss)],
    planned: &[],
};

impl SeriesDemand {
    /// Parses a request body without `dataset_id` against the dataset's declaration, collecting every fault; gives the
    /// name and the demands.
    ///
    /// # Errors
    /// All faults found.
    pub fn parse(body: &Value, dataset: &DatasetDeclaration) -> Result<(String, Self), Vec<Fault>> {
        let mut faults = Faults::default();
        let parsed = parse(body, dataset, &mut faults);
        faults.finish(parsed)
    }
}

fn parse(
    body: &Value,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<(String, SeriesDemand)> {
    let object = Cursor::root(body).object(faults)?;
    object.only(FIELDS, faults);
    let name = object
        .required("name", faults)
        .and_then(|cursor| name_of(&cursor, faults));
    let mode = object
        .optional("mode")
        .map_or(Some(SeriesMode::default()), |cursor| {
            cursor.word(&MODES, faults)
        });
    let is_invariant = mode == Some(SeriesMode::MInvariance);
    let (privacy, invariance) = if is_invariant {
        let found = invariance::invariance(&object, dataset, faults);
        (found.as_ref().map(Invariance::models), Some(found))
    } else {
        invariance::refuse(&object, faults);
        let models = object.required("privacy", faults);
        let models = models.and_then(|cursor| binding_models(&cursor, dataset, faults));
        (models, None)
    };
    let suppression_limit = object
        .optional("suppression_limit")
        .map_or(Some(Fraction::ZERO), |cursor| cursor.fraction(faults));
    let recoding = object
        .optional("recoding")
        .map_or(Some(SeriesRecoding::default()), |cursor| {
            cursor.word(&RECODINGS, faults)
        });
    let score = object
        .optional("score")
        .map_or(Some(Score::Information), |cursor| {
            cursor.word(&SCORES, faults)
        });
    let guard = guard(&object, dataset, faults);
    let mut whole = |name: &str, default: u64, range: std::ops::RangeInclusive<u64>| {
        object
            .optional(name)
            .map_or(Some(default), |cursor| cursor.whole(&range, faults))
    };
    let specialize_factor = whole("specialize_factor", 4, 1..=1000);
    let max_pending_releases = whole("max_pending_releases", 3, 0..=10_000);
    let seed = whole("seed", 0, 0..=u64::MAX);
    let row_linkage = object
        .optional("row_linkage")
        .map_or(Some(false), |cursor| {
            let wanted = cursor.boolean(faults);
            let mut named = dataset.attributes.iter();
            if wanted == Some(true) && named.any(|attribute| attribute.name == ROW_TOKEN) {
                let detail =
                    format!("the dataset has a column `{ROW_TOKEN}`, the name of the rows' tokens");
                let fault = cursor.fault(FaultCode::DuplicateColumn, detail);
                faults.push(fault.column(ROW_TOKEN));
            }
            wanted
        });
    Some((
        name?,
        SeriesDemand {
            privacy: privacy?,
            suppression_limit: suppression_limit?,
            recoding: recoding?,
            score: score?,
            specialize_factor: u32::try_from(specialize_factor?).ok()?,
            max_pending_releases: u32::try_from(max_pending_releases?).ok()?,
            guard: guard?,
            row_linkage: row_linkage?,
            seed: seed?,
            mode: mode?,
            m: invariance
                .as_ref()
                .and_then(|found| Some(found.as_ref()?.m)),
            attribute: invariance.and_then(|found| Some(found?.attribute)),
        },
    ))
}

/// Subjects are guarded where they are declared, unless something else is asked for.
fn guard(
    object: &Object<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<SeriesGuard> {
    let has_subject = dataset.attributes.iter().any(|attribute| attribute.subject);
    let Some(cursor) = object.optional("guard") else {
        return Some(if has_subject {
            SeriesGuard::Subjects
        } else {
            SeriesGuard::Rows
        });
    };
    let guard = cursor.word(&GUARDS, faults)?;
    if guard == SeriesGuard::Subjects && !has_subject {
        let detail = "the dataset declares no subject: leave the field out, or declare one";
        faults.push(cursor.fault(FaultCode::SubjectConflict, detail));
        return None;
    }
    Some(guard)
}

fn name_of(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<String> {
    let name = cursor.text(faults)?;
    if !(1..=NAME_CHARACTERS).contains(&name.chars().count()) {
        let detail = format!("a name has 1 to {NAME_CHARACTERS} characters");
        faults.push(cursor.fault(FaultCode::OutOfRange, detail));
        return None;
    }
    Some(name.to_owned())
}

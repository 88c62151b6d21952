//! Reads one privacy model: its name, then exactly the fields of that model.

use std::ops::RangeInclusive;

use uuid::Uuid;

use super::parse::uuid;
use super::privacy::sensitive;
use super::{DisclosureMode, Distance, MissingSensitive, PrivacyModel, Reference};
use crate::declaration::cursor::Cursor;
use crate::declaration::object::Object;
use crate::declaration::words::Words;
use crate::declaration::{AttributeDeclaration, DatasetDeclaration, Fraction, ValueType};
use crate::fault::{FaultCode, Faults};

/// `k` and `l`: beyond the rows of any table that fits, and exact in every reader of JSON.
const CLASS_SIZES: RangeInclusive<u64> = 1..=1 << 32;

#[derive(Clone, Copy)]
enum Model {
    KAnonymity,
    KMap,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveClDiversity,
    TCloseness,
    DeltaDisclosure,
    BetaLikeness,
    AlphaK,
    DeltaPresence,
    AverageRisk,
    MaximumRisk,
}

const MODELS: Words<Model> = Words {
    noun: "privacy model",
    legal: &[
        ("k_anonymity", Model::KAnonymity),
        ("k_map", Model::KMap),
        ("distinct_l_diversity", Model::DistinctLDiversity),
        ("entropy_l_diversity", Model::EntropyLDiversity),
        ("recursive_cl_diversity", Model::RecursiveClDiversity),
        ("t_closeness", Model::TCloseness),
        ("delta_disclosure", Model::DeltaDisclosure),
        ("beta_likeness", Model::BetaLikeness),
        ("alpha_k", Model::AlphaK),
        ("delta_presence", Model::DeltaPresence),
        ("average_risk", Model::AverageRisk),
        ("maximum_risk", Model::MaximumRisk),
    ],
    planned: &[],
};

const DISTANCES: Words<Distance> = Words {
    noun: "distance",
    legal: &[
        ("equal", Distance::Equal),
        ("ordered", Distance::Ordered),
        ("hierarchical", Distance::Hierarchical),
    ],
    planned: &[],
};

const REFERENCES: Words<Reference> = Words {
    noun: "reference",
    legal: &[
        ("released", Reference::Released),
        ("input", Reference::Input),
    ],
    planned: &[],
};

const MODES: Words<DisclosureMode> = Words {
    noun: "mode",
    legal: &[
        ("strict", DisclosureMode::Strict),
        ("arx", DisclosureMode::Arx),
    ],
    planned: &[],
};

const MISSING: Words<MissingSensitive> = Words {
    noun: "treatment of missing values",
    legal: &[
        ("fails", MissingSensitive::Fails),
        ("exempt", MissingSensitive::Exempt),
    ],
    planned: &[],
};

/// Reads a model.
pub(super) fn model(
    cursor: &Cursor<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<PrivacyModel> {
    let object = cursor.object(faults)?;
    let model = object.required("model", faults)?.word(&MODELS, faults)?;
    let mut reader = Reader {
        object: &object,
        dataset,
        faults,
    };
    match model {
        Model::KAnonymity => {
            reader.only(&["k"]);
            Some(PrivacyModel::KAnonymity {
                k: reader.size("k")?,
            })
        }
        Model::KMap => reader.k_map(),
        Model::DeltaPresence => reader.presence(),
        Model::DistinctLDiversity => reader.distinct(),
        Model::EntropyLDiversity => reader.entropy(),
        Model::RecursiveClDiversity => reader.recursive(),
        Model::TCloseness => reader.closeness(),
        Model::DeltaDisclosure => reader.disclosure(),
        Model::BetaLikeness => reader.likeness(),
        Model::AlphaK => reader.alpha_k(),
        Model::AverageRisk => {
            reader.only(&["max"]);
            let max = reader.share("max")?;
            Some(PrivacyModel::AverageRisk { max })
        }
        Model::MaximumRisk => {
            reader.only(&["max"]);
            let max = reader.share("max")?;
            Some(PrivacyModel::MaximumRisk { max })
        }
    }
}

/// Reads the fields of one model. Every field is read before any is missed, so that all faults are found.
struct Reader<'r, 'v> {
    object: &'r Object<'v>,
    dataset: &'r DatasetDeclaration,
    faults: &'r mut Faults,
}

impl Reader<'_, '_> {
    fn only(&mut self, fields: &[&str]) {
        let known: Vec<&str> = ["model"].iter().chain(fields).copied().collect();
        self.object.only(&known, self.faults);
    }

    fn attribute(&mut self) -> Option<String> {
        sensitive(self.object, self.dataset, self.faults).map(|attribute| attribute.name.clone())
    }

    /// A class size or a number of values.
    fn size(&mut self, name: &str) -> Option<u64> {
        let cursor = self.object.required(name, self.faults)?;
        cursor.whole(&CLASS_SIZES, self.faults)
    }

    /// A number for which `legal` holds.
    fn number(&mut self, name: &str, wanted: &str, legal: impl Fn(f64) -> bool) -> Option<f64> {
        let cursor = self.object.required(name, self.faults)?;
        cursor.number(wanted, legal, self.faults)
    }

    /// A number above 0, bounded so that products with counts stay finite.
    fn positive(&mut self, name: &str) -> Option<f64> {
        let wanted = "a number above 0, at most 1000000000";
        self.number(name, wanted, |value| value > 0.0 && value <= 1e9)
    }

    /// A fraction above 0.
    fn share(&mut self, name: &str) -> Option<Fraction> {
        let cursor = self.object.required(name, self.faults)?;
        let share = cursor.fraction(self.faults)?;
        // Inverses of smaller ones are beyond the rows of any table that fits.
        if share.least_inverse().is_none_or(|size| size > 1 << 32) {
            let detail = "a fraction above 0, at most 1, is wanted here";
            self.faults
                .push(cursor.fault(FaultCode::OutOfRange, detail));
            return None;
        }
        Some(share)
    }

    /// A word with a default.
    fn word<T: Copy + Default>(&mut self, name: &str, words: &Words<T>) -> Option<T> {
        self.object
            .optional(name)
            .map_or(Some(T::default()), |cursor| cursor.word(words, self.faults))
    }

    /// The dataset of a population.
    fn population(&mut self) -> Option<Uuid> {
        let cursor = self.object.required("population", self.faults)?;
        uuid(&cursor, self.faults)
    }

    fn k_map(&mut self) -> Option<PrivacyModel> {
        self.only(&["k", "population"]);
        let k = self.size("k");
        let population = self.population();
        Some(PrivacyModel::KMap {
            k: k?,
            population: population?,
        })
    }

    fn presence(&mut self) -> Option<PrivacyModel> {
        self.only(&["min", "max", "population"]);
        let min = self.object.required("min", self.faults);
        let min = min.and_then(|cursor| Some((cursor.fraction(self.faults)?, cursor)));
        let max = self.share("max");
        let population = self.population();
        let ((min, cursor), max) = (min?, max?);
        if min > max {
            let detail = "`min` must not be above `max`";
            self.faults
                .push(cursor.fault(FaultCode::OutOfRange, detail));
            return None;
        }
        Some(PrivacyModel::DeltaPresence {
            min,
            max,
            population: population?,
        })
    }

    fn distinct(&mut self) -> Option<PrivacyModel> {
        self.only(&["attribute", "l", "missing"]);
        let attribute = self.attribute();
        let l = self.size("l");
        let missing = self.word("missing", &MISSING);
        Some(PrivacyModel::DistinctLDiversity {
            attribute: attribute?,
            l: l?,
            missing: missing?,
        })
    }

    fn entropy(&mut self) -> Option<PrivacyModel> {
        self.only(&["attribute", "l", "missing"]);
        let attribute = self.attribute();
        let wanted = "a number from 1 to 4294967296";
        let l = self.number("l", wanted, |value| {
            (1.0..=4_294_967_296.0).contains(&value)
        });
        let missing = self.word("missing", &MISSING);
        Some(PrivacyModel::EntropyLDiversity {
            attribute: attribute?,
            l: l?,
            missing: missing?,
        })
    }

    fn recursive(&mut self) -> Option<PrivacyModel> {
        self.only(&["attribute", "c", "l", "missing"]);
        let attribute = self.attribute();
        let c = self.positive("c");
        let l = self.size("l");
        let missing = self.word("missing", &MISSING);
        Some(PrivacyModel::RecursiveClDiversity {
            attribute: attribute?,
            c: c?,
            l: l?,
            missing: missing?,
        })
    }

    fn closeness(&mut self) -> Option<PrivacyModel> {
        self.only(&["attribute", "t", "distance", "reference"]);
        let attribute = sensitive(self.object, self.dataset, self.faults);
        let t = self.share("t");
        let distance = self.distance(attribute);
        let reference = self.word("reference", &REFERENCES);
        Some(PrivacyModel::TCloseness {
            attribute: attribute?.name.clone(),
            t: t?.to_f64(),
            distance: distance?,
            reference: reference?,
        })
    }

    /// A distance that the attribute's declaration makes sense of (user-cases D5).
    fn distance(&mut self, attribute: Option<&AttributeDeclaration>) -> Option<Distance> {
        let cursor = self.object.required("distance", self.faults)?;
        let distance = cursor.word(&DISTANCES, self.faults)?;
        let attribute = attribute?;
        let has_order = attribute.order.is_some()
            || matches!(
                attribute.value_type,
                ValueType::Integer | ValueType::Decimal
            );
        let lacks = match distance {
            Distance::Ordered if !has_order => {
                "`ordered` needs a column of type `integer` or `decimal`, or one that declares an `order`"
            }
            Distance::Hierarchical if attribute.hierarchy.is_none() => {
                "`hierarchical` needs a column that declares a `hierarchy`"
            }
            _ => return Some(distance),
        };
        let fault = cursor.fault(FaultCode::DistanceUndefined, lacks);
        self.faults.push(fault.column(&attribute.name));
        None
    }

    fn disclosure(&mut self) -> Option<PrivacyModel> {
        self.only(&["attribute", "delta", "mode"]);
        let attribute = self.attribute();
        let delta = self.positive("delta");
        let mode = self.word("mode", &MODES);
        Some(PrivacyModel::DeltaDisclosure {
            attribute: attribute?,
            delta: delta?,
            mode: mode?,
        })
    }

    fn likeness(&mut self) -> Option<PrivacyModel> {
        self.only(&["attribute", "beta", "enhanced"]);
        let attribute = self.attribute();
        let beta = self.positive("beta");
        let enhanced = self.object.optional("enhanced");
        let enhanced = enhanced.map_or(Some(false), |cursor| cursor.boolean(self.faults));
        Some(PrivacyModel::BetaLikeness {
            attribute: attribute?,
            beta: beta?,
            enhanced: enhanced?,
        })
    }

    fn alpha_k(&mut self) -> Option<PrivacyModel> {
        self.only(&["attribute", "alpha", "k", "values"]);
        let attribute = sensitive(self.object, self.dataset, self.faults);
        let alpha = self.share("alpha");
        let k = self.size("k");
        let values = self.object.optional("values");
        let values = values.map(|cursor| {
            let values = cursor.texts(self.faults);
            if values.as_ref().is_some_and(Vec::is_empty) {
                let detail = "at least one value is wanted here; leave the field out for all";
                self.faults
                    .push(cursor.fault(FaultCode::OutOfRange, detail));
            }
            values
        });
        let mut values = values.map_or(Some(None), |values| values.map(Some));
        if let Some(Some(values)) = &mut values
            && attribute.is_some_and(|attribute| attribute.trim)
        {
            for value in values {
                *value = value.trim().to_owned();
            }
        }
        Some(PrivacyModel::AlphaK {
            attribute: attribute?.name.clone(),
            alpha: alpha?.to_f64(),
            k: k?,
            values: values?,
        })
    }
}

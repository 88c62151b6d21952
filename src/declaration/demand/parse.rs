//! Reads demands out of request bodies; every fault with its pointer.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::Value;
use uuid::Uuid;

use super::privacy::{binding_models, models};
use super::{
    Demand, MeasureDemand, Objective, PopulationDemand, PrivacyModel, Recoding, ReleaseChoice,
    clusters, measures, perturbation, preset, search,
};
use crate::declaration::cursor::Cursor;
use crate::declaration::words::Words;
use crate::declaration::{DatasetDeclaration, Fraction, Role};
use crate::fault::{Fault, FaultCode, Faults};

const DEMAND_FIELDS: &[&str] = &[
    "privacy",
    "suppression_limit",
    "recoding",
    "search",
    "objectives",
    "loss",
    "weights",
    "target",
    "classification",
    "risk",
    "measures",
    "recommend",
    "release",
    "representation",
    "preset",
    "perturbation",
];

/// Years of data, in which ages are reckoned.
const YEARS: RangeInclusive<u64> = 1900..=9999;

const RECODINGS: Words<Recoding> = Words {
    noun: "recoding",
    legal: &[
        ("full_domain", Recoding::FullDomain),
        ("subtree", Recoding::Subtree),
        ("local", Recoding::Local),
        ("microaggregation", Recoding::Microaggregation),
    ],
    planned: &[],
};

const RELEASE_CHOICES: Words<ReleaseChoice> = Words {
    noun: "choice of a solution",
    legal: &[("recommended", ReleaseChoice::Recommended)],
    planned: &[],
};

/// What [`Demand::parse`] does.
pub(super) fn demand(body: &Value, dataset: &DatasetDeclaration) -> Result<Demand, Vec<Fault>> {
    let mut faults = Faults::default();
    let demand = demand_of(body, dataset, &mut faults);
    faults.finish(demand)
}

/// Cuts and classes are formed over the values of the rows: a population's values may have no place in them.
fn refuse_populations(
    privacy: Option<&[PrivacyModel]>,
    risk: Option<PopulationDemand>,
    faults: &mut Faults,
) {
    let models = privacy.unwrap_or_default().iter().enumerate();
    let models = models.filter(|(_, model)| model.population().is_some());
    let risks = risk.and_then(|known| known.population).into_iter();
    let places = models
        .map(|(index, _)| format!("/privacy/{index}/population"))
        .chain(risks.map(|_| "/risk/population".to_owned()));
    for place in places {
        let detail = "a population is compared with `recoding`: `full_domain` only";
        faults.push(Fault::at(place, FaultCode::NotSupported, detail));
    }
}

fn demand_of(body: &Value, dataset: &DatasetDeclaration, faults: &mut Faults) -> Option<Demand> {
    let object = Cursor::root(body).object(faults)?;
    object.only(DEMAND_FIELDS, faults);
    let has_own_models = object.optional("preset").is_some() || perturbation::is_sample(&object);
    let privacy = match object.optional("privacy") {
        // A preset and a sample name models of their own.
        None if has_own_models => None,
        // A preset adds its k to others, so these need not bound the size of a class.
        Some(cursor) if object.optional("preset").is_some() => models(&cursor, dataset, faults),
        _ => object
            .required("privacy", faults)
            .and_then(|cursor| binding_models(&cursor, dataset, faults)),
    };
    let suppression_limit = object
        .optional("suppression_limit")
        .map_or(Some(Fraction::ZERO), |cursor| cursor.fraction(faults));
    let recoding = object
        .optional("recoding")
        .map_or(Some(Recoding::default()), |cursor| {
            cursor.word(&RECODINGS, faults)
        });
    let kind = recoding.unwrap_or_default();
    let mut search = search::search(&object, kind, dataset, faults);
    let preset = preset::preset(&object, kind, faults);
    let privacy = privacy.or_else(|| match object.optional("privacy") {
        None => preset.map(|_| Vec::new()),
        Some(_) => None,
    });
    let perturbation = perturbation::perturbation(&object, dataset, faults);
    let mut privacy = privacy.or_else(|| match (object.optional("privacy"), &perturbation) {
        (None, Some(perturbation)) => perturbation::usual_privacy(perturbation, dataset),
        _ => None,
    });
    if let (Some(preset), Some(search), Some(privacy)) = (preset, &mut search, &mut privacy) {
        let method = search.method_for_classes(kind);
        preset.fill(privacy, &mut search.clusters, method);
        let roles = dataset.attributes.iter().map(|attribute| attribute.role);
        let sensitive = roles.filter(|role| *role == Role::Sensitive).count();
        preset.check(privacy, &search.clusters, sensitive, faults);
    }
    let objectives = measures::objectives(&object, kind, dataset, faults);
    let representation = clusters::representation(&object, kind, faults);
    if let (Some(search), Some(objectives)) = (&search, &objectives) {
        search::fit_objectives(&object, search, objectives, faults);
    }
    let loss = measures::loss(&object, faults);
    let weights = measures::weights(&object, dataset, faults);
    measures::require_target(&object, objectives.as_deref(), faults);
    let target = object.optional("target");
    let mut target = target.map(|cursor| measures::target(&cursor, dataset, faults));
    if let (None, Some(objectives), Some(search)) = (&target, &objectives, &search) {
        let is_read = kind == Recoding::Subtree || objectives.contains(&Objective::InformationGain);
        let is_named = objectives.contains(&Objective::Classification);
        if is_read && !is_named {
            let usual = measures::usual_target(&object, dataset, objectives, search.score, faults);
            target = usual.map(Some);
        }
    }
    let classification = measures::classification(&object, faults);
    let risk = object.optional("risk");
    let risk = risk.map(|cursor| measures::population(&cursor, faults));
    if let Some(perturbation) = &perturbation {
        let beside = perturbation::Beside {
            privacy: privacy.as_deref(),
            recoding,
            method: search.as_ref().map(|search| search.method),
            suppression_limit,
            risk: risk.flatten(),
        };
        perturbation::refuse_unfit(perturbation, &beside, dataset, faults);
    }
    if kind.has_classes() {
        clusters::refuse_unfit(&object, dataset, objectives.as_deref(), faults);
    }
    if kind != Recoding::FullDomain {
        refuse_populations(privacy.as_deref(), risk.flatten(), faults);
    }
    let measures = measures::reported(&object, faults);
    let recommend = measures::recommend(&object, faults);
    let release = object.optional("release");
    let release = release.map(|cursor| cursor.word(&RELEASE_CHOICES, faults));
    Some(Demand {
        privacy: privacy?,
        suppression_limit: suppression_limit?,
        recoding: recoding?,
        search: search?,
        objectives: objectives?,
        loss: loss?,
        weights: weights?,
        target: target.map_or(Some(None), |target| target.map(Some))?,
        classification: classification?,
        risk: risk.map_or(Some(None), |risk| risk.map(Some))?,
        measures: measures?,
        recommend: recommend?,
        release: release.map_or(Some(None), |choice| choice.map(Some))?,
        representation,
        preset,
        perturbation,
    })
}

/// What [`MeasureDemand::parse`] does.
pub(super) fn measure(
    body: &Value,
    dataset: &DatasetDeclaration,
) -> Result<MeasureDemand, Vec<Fault>> {
    let mut faults = Faults::default();
    let demand = measure_of(body, dataset, &mut faults);
    faults.finish(demand)
}

fn measure_of(
    body: &Value,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<MeasureDemand> {
    let object = Cursor::root(body).object(faults)?;
    object.only(
        &["privacy", "levels", "risk", "measures", "year_of_data"],
        faults,
    );
    let privacy = object
        .optional("privacy")
        .map_or(Some(Vec::new()), |cursor| models(&cursor, dataset, faults));
    let levels = object
        .optional("levels")
        .map_or(Some(BTreeMap::new()), |cursor| {
            search::levels(&cursor, dataset, faults)
        });
    let risk = object.optional("risk");
    let risk = risk.map(|cursor| measures::population(&cursor, faults));
    let measures = measures::reported(&object, faults);
    let year = object.optional("year_of_data");
    let year = year.map(|cursor| cursor.whole(&YEARS, faults));
    Some(MeasureDemand {
        privacy: privacy?,
        levels: levels?,
        risk: risk.map_or(Some(None), |risk| risk.map(Some))?,
        measures: measures?,
        year_of_data: match year {
            None => None,
            Some(year) => u32::try_from(year?).ok(),
        },
    })
}

/// A dataset's or job's id.
pub(super) fn uuid(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<Uuid> {
    let text = cursor.text(faults)?;
    let id = Uuid::parse_str(text).ok();
    if id.is_none() {
        let fault = cursor.fault(FaultCode::WrongType, "a UUID is wanted here");
        faults.push(fault.sample([text]));
    }
    id
}

//! Reads the shape of a hierarchy's declaration; whether it is a tree is settled when it is compiled.

use super::{DateLevel, HierarchyDeclaration, TaxonomyNode};
use crate::anonymize::safe_harbor::{Zip3List, Zip3Width};
use crate::declaration::cursor::Cursor;
use crate::declaration::object::Object;
use crate::declaration::words::Words;
use crate::fault::Faults;

#[derive(Clone, Copy)]
enum Kind {
    Table,
    Intervals,
    Prefix,
    Dates,
    Taxonomy,
    Zip3,
    Splits,
}

const KINDS: Words<Kind> = Words {
    noun: "hierarchy kind",
    legal: &[
        ("table", Kind::Table),
        ("intervals", Kind::Intervals),
        ("prefix", Kind::Prefix),
        ("dates", Kind::Dates),
        ("taxonomy", Kind::Taxonomy),
        ("zip3", Kind::Zip3),
        ("splits", Kind::Splits),
    ],
    planned: &[],
};

const DATE_LEVELS: Words<DateLevel> = Words {
    noun: "calendar level",
    legal: &[
        ("day", DateLevel::Day),
        ("month", DateLevel::Month),
        ("quarter", DateLevel::Quarter),
        ("year", DateLevel::Year),
        ("decade", DateLevel::Decade),
    ],
    planned: &[],
};

const ZIP3_LISTS: Words<Zip3List> = Words {
    noun: "list of small areas",
    legal: &[
        ("census-2000", Zip3List::Census2000),
        ("census-2020", Zip3List::Census2020),
    ],
    planned: &[],
};

const ZIP3_WIDTHS: Words<Zip3Width> = Words {
    noun: "width",
    legal: &[("three", Zip3Width::Three), ("five", Zip3Width::Five)],
    planned: &[],
};

/// The declaration of a hierarchy; `None` after a fault.
pub(super) fn declaration(
    cursor: &Cursor<'_>,
    faults: &mut Faults,
) -> Option<HierarchyDeclaration> {
    let object = cursor.object(faults)?;
    let kind = object.required("kind", faults)?.word(&KINDS, faults)?;
    let before = faults.count();
    let declaration = match kind {
        Kind::Table => Some(table(&object, faults)),
        Kind::Intervals => intervals(&object, faults),
        Kind::Prefix => prefix(&object, faults),
        Kind::Dates => dates(&object, faults),
        Kind::Taxonomy => taxonomy(&object, faults),
        Kind::Zip3 => zip3(&object, faults),
        Kind::Splits => splits(&object, faults),
    };
    declaration.filter(|_| faults.count() == before)
}

fn table(object: &Object<'_>, faults: &mut Faults) -> HierarchyDeclaration {
    object.only(&["kind", "delimiter", "text", "rows"], faults);
    let mut text_of = |name: &str| {
        let text = object.optional(name).and_then(|cursor| cursor.text(faults));
        text.map(str::to_owned)
    };
    let (delimiter, text) = (text_of("delimiter"), text_of("text"));
    let rows = object.optional("rows").and_then(|cursor| {
        let rows: Vec<Option<Vec<String>>> = cursor
            .list(faults)?
            .iter()
            .map(|row| row.texts(faults))
            .collect();
        rows.into_iter().collect()
    });
    HierarchyDeclaration::Table {
        delimiter,
        text,
        rows,
    }
}

fn intervals(object: &Object<'_>, faults: &mut Faults) -> Option<HierarchyDeclaration> {
    let optional_fields = ["lower", "upper", "top_from", "bottom_below"];
    object.only(
        &[&["kind", "origin", "widths"][..], &optional_fields[..]].concat(),
        faults,
    );
    let origin = object
        .required("origin", faults)
        .and_then(|cursor| cursor.exact_number(faults));
    let widths = object
        .required("widths", faults)
        .and_then(|cursor| cursor.exact_numbers(faults));
    let [lower, upper, top_from, bottom_below] = optional_fields.map(|name| {
        object
            .optional(name)
            .and_then(|cursor| cursor.exact_number(faults))
    });
    Some(HierarchyDeclaration::Intervals {
        origin: origin?,
        widths: widths?,
        lower,
        upper,
        top_from,
        bottom_below,
    })
}

fn splits(object: &Object<'_>, faults: &mut Faults) -> Option<HierarchyDeclaration> {
    object.only(&["kind", "points"], faults);
    let levels = object.required("points", faults)?.list(faults)?;
    let points: Vec<_> = levels
        .iter()
        .map(|level| level.exact_numbers(faults))
        .collect();
    let points: Option<Vec<_>> = points.into_iter().collect();
    points.map(|points| HierarchyDeclaration::Splits { points })
}

fn prefix(object: &Object<'_>, faults: &mut Faults) -> Option<HierarchyDeclaration> {
    object.only(&["kind", "keep"], faults);
    let elements = object.required("keep", faults)?.list(faults)?;
    let keep: Vec<Option<usize>> = elements
        .iter()
        .map(|element| {
            let kept = element.whole(&(0..=10_000), faults)?;
            usize::try_from(kept).ok()
        })
        .collect();
    let keep: Option<Vec<usize>> = keep.into_iter().collect();
    keep.map(|keep| HierarchyDeclaration::Prefix { keep })
}

fn dates(object: &Object<'_>, faults: &mut Faults) -> Option<HierarchyDeclaration> {
    object.only(&["kind", "levels"], faults);
    let elements = object.required("levels", faults)?.list(faults)?;
    let levels: Vec<Option<DateLevel>> = elements
        .iter()
        .map(|element| element.word(&DATE_LEVELS, faults))
        .collect();
    let levels: Option<Vec<DateLevel>> = levels.into_iter().collect();
    levels.map(|levels| HierarchyDeclaration::Dates { levels })
}

fn zip3(object: &Object<'_>, faults: &mut Faults) -> Option<HierarchyDeclaration> {
    object.only(&["kind", "list", "width"], faults);
    let list = object
        .optional("list")
        .map_or(Some(Zip3List::newest()), |cursor| {
            cursor.word(&ZIP3_LISTS, faults)
        });
    let width = object
        .optional("width")
        .map_or(Some(Zip3Width::default()), |cursor| {
            cursor.word(&ZIP3_WIDTHS, faults)
        });
    Some(HierarchyDeclaration::Zip3 {
        list: list?,
        width: width?,
    })
}

fn taxonomy(object: &Object<'_>, faults: &mut Faults) -> Option<HierarchyDeclaration> {
    object.only(&["kind", "label", "children"], faults);
    let (label, children) = node(object, faults)?;
    Some(HierarchyDeclaration::Taxonomy { label, children })
}

/// Label and children; the depth is bounded by that of the JSON text.
fn node(object: &Object<'_>, faults: &mut Faults) -> Option<(String, Vec<TaxonomyNode>)> {
    let label = object
        .required("label", faults)
        .and_then(|cursor| cursor.text(faults));
    let elements = object
        .optional("children")
        .map_or_else(|| Some(Vec::new()), |cursor| cursor.list(faults))?;
    let children: Vec<Option<TaxonomyNode>> = elements
        .iter()
        .map(|element| {
            let object = element.object(faults)?;
            object.only(&["label", "children"], faults);
            let (label, children) = node(&object, faults)?;
            Some(TaxonomyNode { label, children })
        })
        .collect();
    let children: Option<Vec<TaxonomyNode>> = children.into_iter().collect();
    Some((label?.to_owned(), children?))
}

//! The three-digit ZIP code and the lists of small areas.
//!
//! The rule lets the first three digits stand where all ZIP codes that begin with them cover more than 20,000 people
//! "according to the current publicly available data from the Bureau of the Census", and wants 000 elsewhere. Which
//! areas are small changes with each census, so a list has a name and a source, and a release must say which it used.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A version of the list of three-digit areas of at most 20,000 people.
///
/// Both lists are given as they are in use; neither was recomputed from census data here. Whoever relies on one must
/// check it against the data that are current at the time of release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
pub enum Zip3List {
    /// 17 areas.
    #[serde(rename = "census-2000")]
    Census2000,
    /// 18 areas.
    #[serde(rename = "census-2020")]
    Census2020,
}

const CENSUS_2000: [&str; 17] = [
    "036", "059", "063", "102", "203", "556", "692", "790", "821", "823", "830", "831", "878",
    "879", "884", "890", "893",
];

const CENSUS_2020: [&str; 18] = [
    "036", "059", "102", "202", "203", "204", "205", "369", "556", "692", "753", "772", "821",
    "823", "878", "879", "884", "893",
];

impl Zip3List {
    /// All versions, oldest first.
    pub const ALL: [Self; 2] = [Self::Census2000, Self::Census2020];

    /// The newest version.
    #[must_use]
    pub const fn newest() -> Self {
        Self::Census2020
    }

    /// The name, as in a declaration and in a report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Census2000 => "census-2000",
            Self::Census2020 => "census-2020",
        }
    }

    /// The version with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.name() == name)
    }

    /// Where the list comes from, and what must be checked.
    #[must_use]
    pub const fn source(self) -> &'static str {
        match self {
            Self::Census2000 => {
                "2000 census, as in the guidance of the US Department of Health and Human Services on \
                 de-identification (2012); superseded by later censuses: check before use"
            }
            Self::Census2020 => {
                "2020 census, as used by HRSA for UDS+ reports (drajer-health/uds-plus, issue 35); not recomputed \
                 here: check before use"
            }
        }
    }

    /// The three-digit areas, rising.
    #[must_use]
    pub const fn areas(self) -> &'static [&'static str] {
        match self {
            Self::Census2000 => &CENSUS_2000,
            Self::Census2020 => &CENSUS_2020,
        }
    }

    /// Whether an area must be written as 000.
    #[must_use]
    pub fn is_small(self, area: &str) -> bool {
        self.areas().binary_search(&area).is_ok()
    }
}

/// How a three-digit area is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Zip3Width {
    /// `170`, `000`.
    #[default]
    Three,
    /// `17000`, `00000`, a house style of the CDC.
    Five,
}

/// The text is no ZIP code of five digits, with or without four more.
///
/// Four digits are refused: a lost leading zero cannot be told from a wrong code (user-cases UC-16).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a ZIP code: five digits are needed, or nine with or without a hyphen")]
pub struct NotAZip;

/// The three-digit form of a ZIP code: `02139` is `021`, and `000` where the list says that the area is small.
///
/// A missing value stays missing and is not a ZIP code: do not pass it.
///
/// # Errors
/// [`NotAZip`] unless the text is `ddddd`, `ddddd-dddd` or `ddddddddd`, without white space.
///
/// # Example
/// ```
/// use kindred::anonymize::safe_harbor::{Zip3List, Zip3Width, zip3};
///
/// assert_eq!(zip3("10204-1234", Zip3List::Census2020, Zip3Width::Three).as_deref(), Ok("000"));
/// assert_eq!(zip3("17011", Zip3List::Census2020, Zip3Width::Five).as_deref(), Ok("17000"));
/// ```
pub fn zip3(value: &str, list: Zip3List, width: Zip3Width) -> Result<Cow<'_, str>, NotAZip> {
    if !is_zip(value) {
        return Err(NotAZip);
    }
    let area = match &value[..3] {
        area if list.is_small(area) => "000",
        area => area,
    };
    Ok(match width {
        Zip3Width::Three => Cow::Borrowed(area),
        Zip3Width::Five => Cow::Owned(format!("{area}00")),
    })
}

/// The labels of a ZIP code from level 0: the code itself, its three-digit form, `*`.
///
/// The whole rule of a hierarchy of kind `zip3`: three levels, the second as [`zip3`] gives it. Codes that differ in
/// the +4 part only are different values that meet on level 1.
///
/// # Errors
/// [`NotAZip`], as [`zip3`].
pub fn zip3_levels(
    value: &str,
    list: Zip3List,
    width: Zip3Width,
) -> Result<[Cow<'_, str>; 3], NotAZip> {
    let area = zip3(value, list, width)?;
    Ok([Cow::Borrowed(value), area, Cow::Borrowed("*")])
}

/// Whether a text is `ddddd`, `ddddd-dddd` or `ddddddddd`.
pub(super) fn is_zip(value: &str) -> bool {
    let digits = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    match value.split_once('-') {
        Some((zip, more)) => digits(zip, 5) && digits(more, 4),
        None => digits(value, 5) || digits(value, 9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three(value: &str, list: Zip3List) -> Result<String, NotAZip> {
        zip3(value, list, Zip3Width::Three).map(Cow::into_owned)
    }

    #[test]
    fn uc_16_the_table_of_safe_harbor_values_holds() {
        // Appendix 10.
        for list in Zip3List::ALL {
            assert_eq!(three("02139", list).as_deref(), Ok("021"));
            assert_eq!(three("03601", list).as_deref(), Ok("000"));
            assert_eq!(three("82101", list).as_deref(), Ok("000"));
            assert_eq!(three("10204-1234", list).as_deref(), Ok("000"));
            assert_eq!(three("10244-4775", list).as_deref(), Ok("000"));
            assert_eq!(three("17011-1402", list).as_deref(), Ok("170"));
            assert_eq!(three("2139", list), Err(NotAZip));
        }
        assert_eq!(three("83001", Zip3List::Census2000).as_deref(), Ok("000"));
        assert_eq!(three("83001", Zip3List::Census2020).as_deref(), Ok("830"));
        assert_eq!(
            three("20589-7352", Zip3List::Census2000).as_deref(),
            Ok("205")
        );
        assert_eq!(
            three("20589-7352", Zip3List::Census2020).as_deref(),
            Ok("000")
        );
    }

    #[test]
    fn the_width_of_five_pads_with_zeros() {
        let five = |value| zip3(value, Zip3List::Census2020, Zip3Width::Five).map(Cow::into_owned);
        assert_eq!(five("17011-1402").as_deref(), Ok("17000"));
        assert_eq!(five("03601").as_deref(), Ok("00000"));
    }

    #[test]
    fn what_is_no_zip_is_refused() {
        for text in [
            "",
            "2139",
            "021390",
            "02139-",
            "02139-123",
            "0213a",
            " 02139",
            "*",
            "021",
            "０２１３９",
            "é2139",
        ] {
            assert_eq!(three(text, Zip3List::Census2020), Err(NotAZip), "{text}");
        }
        assert_eq!(
            three("021391234", Zip3List::Census2020).as_deref(),
            Ok("021")
        );
    }

    #[test]
    fn the_lists_have_17_and_18_areas_and_share_12() {
        let [old, new] = Zip3List::ALL.map(Zip3List::areas);
        assert_eq!((old.len(), new.len()), (17, 18));
        assert_eq!(old.iter().filter(|area| new.contains(area)).count(), 12);
        for list in Zip3List::ALL {
            assert!(list.areas().is_sorted());
            assert_eq!(Zip3List::named(list.name()), Some(list));
            assert!(list.source().contains("check before use"));
            let json = serde_json::to_string(&list).unwrap();
            assert_eq!(json, format!("\"{}\"", list.name()));
        }
    }

    #[test]
    fn levels_run_from_the_code_to_the_star() {
        let levels = zip3_levels("17011-1402", Zip3List::Census2020, Zip3Width::Three).unwrap();
        assert_eq!(levels, ["17011-1402", "170", "*"]);
    }
}

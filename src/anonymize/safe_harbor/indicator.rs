//! Which columns look like one of the 18 identifiers, and why.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::column_names::{self, Subject};
use super::values::{date, pattern, plain_year};
use super::zip3::is_zip;

/// The 18 kinds of identifiers, 45 CFR 164.514(b)(2)(i) (A) to (R), in order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// (A) Names.
    Names,
    /// (B) Geographic subdivisions smaller than a state, ZIP codes beyond three digits among them.
    Geography,
    /// (C) Elements of dates except the year, ages over 89, and what implies them.
    DatesAndAges,
    /// (D) Telephone numbers.
    Telephone,
    /// (E) Fax numbers.
    Fax,
    /// (F) E-mail addresses.
    Email,
    /// (G) Social security numbers.
    SocialSecurity,
    /// (H) Medical record numbers.
    MedicalRecord,
    /// (I) Health plan beneficiary numbers.
    HealthPlan,
    /// (J) Account numbers.
    Account,
    /// (K) Certificate and licence numbers.
    CertificateOrLicense,
    /// (L) Vehicle identifiers, licence plates among them.
    Vehicle,
    /// (M) Device identifiers and serial numbers.
    Device,
    /// (N) Web addresses.
    Url,
    /// (O) Internet protocol addresses.
    IpAddress,
    /// (P) Biometric identifiers.
    Biometric,
    /// (Q) Full-face photographs and comparable images.
    Photograph,
    /// (R) Any other unique identifying number, characteristic or code; hashes and pseudonyms among them.
    OtherUniqueCode,
}

/// Where an indicator comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The column's name.
    Name,
    /// Its values.
    Values,
}

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// The column is called like the identifier.
    ColumnName,
    /// E-mail addresses.
    EmailValues,
    /// Web addresses.
    UrlValues,
    /// Numbers written like social security numbers.
    SocialSecurityValues,
    /// IPv4 or IPv6 addresses.
    IpAddressValues,
    /// Dates or months, finer than a year.
    DateValues,
    /// Telephone or fax numbers.
    TelephoneValues,
    /// Digests and UUIDs: a hash of an identifier is one.
    HashOrUuidValues,
    /// Addresses of network devices.
    HardwareAddressValues,
    /// Vehicle identification numbers with a right check digit.
    VehicleNumberValues,
    /// ZIP codes of five or nine digits.
    ZipValues,
    /// Ages over 89 in a column called an age.
    AgesOver89,
    /// Years of birth from which an age of 90 or more follows.
    BirthYearsOver89,
    /// Whole numbers or codes that differ in every row.
    UniquePerRow,
}

impl Sign {
    /// The kind of identifier it points to, and the least share of distinct values that makes it worth telling.
    ///
    /// Patterns that hardly anything else matches count from one in a hundred, for identifiers in free columns;
    /// looser ones from half. Ages and years of birth count from the first: one person is enough.
    fn rule(self) -> (Category, f64) {
        match self {
            Self::EmailValues => (Category::Email, 0.01),
            Self::UrlValues => (Category::Url, 0.01),
            Self::SocialSecurityValues => (Category::SocialSecurity, 0.01),
            Self::IpAddressValues => (Category::IpAddress, 0.5),
            Self::DateValues => (Category::DatesAndAges, 0.5),
            Self::TelephoneValues => (Category::Telephone, 0.5),
            Self::HashOrUuidValues | Self::UniquePerRow | Self::ColumnName => {
                (Category::OtherUniqueCode, 0.5)
            }
            Self::HardwareAddressValues => (Category::Device, 0.5),
            Self::VehicleNumberValues => (Category::Vehicle, 0.5),
            Self::ZipValues => (Category::Geography, 0.5),
            Self::AgesOver89 | Self::BirthYearsOver89 => (Category::DatesAndAges, 0.0),
        }
    }
}

/// One column that looks like one kind of identifier. Holds no cell value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Indicator {
    /// The column.
    pub column: String,
    /// The kind of identifier.
    pub category: Category,
    /// Where it comes from.
    pub evidence: Evidence,
    /// What was seen.
    pub sign: Sign,
    /// Share of the distinct non-missing values that match, `0..=1`; absent for evidence by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
}

/// A column to look at.
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    /// Its name.
    pub name: &'a str,
    /// Rows with a value; 0 if unknown, then nothing is said about uniqueness.
    pub filled_rows: u64,
}

/// Fewest rows for which "different in every row" means anything.
const ROWS_FOR_UNIQUENESS: u64 = 100;

/// The indicators of one column, by name first.
///
/// `values` are its distinct non-missing values, in any order; the year is that of the data, from which ages are
/// reckoned. A name that speaks of a date or a ZIP code is no indicator if the values are only years or three digits.
/// Cost: one pass.
#[must_use]
pub fn indicators<'a>(
    column: Column<'_>,
    values: impl IntoIterator<Item = &'a str>,
    year_of_data: u32,
) -> Vec<Indicator> {
    let subject = column_names::subject(column.name);
    let tally = Tally::of(values, subject, year_of_data);
    let mut found = Vec::new();
    let mut add = |category, evidence, sign, share| {
        found.push(Indicator {
            column: column.name.to_owned(),
            category,
            evidence,
            sign,
            share,
        });
    };
    if let Some(category) = subject.category
        && !tally.is_coarse_already(subject)
    {
        add(category, Evidence::Name, Sign::ColumnName, None);
    }
    for (sign, share) in tally.signs(subject, column.filled_rows) {
        let (category, _) = sign.rule();
        // A telephone number in a column called fax is a fax number.
        let category = match subject.category {
            Some(Category::Fax) if sign == Sign::TelephoneValues => Category::Fax,
            _ => category,
        };
        add(category, Evidence::Values, sign, Some(share));
    }
    found
}

/// What was counted over the distinct values.
#[derive(Debug, Default)]
struct Tally {
    distinct: u64,
    /// Matches per pattern, in order of first match.
    patterns: Vec<(Sign, u64)>,
    /// Five- or nine-digit codes, and among them those that begin with a zero.
    zips: u64,
    zips_from_zero: u64,
    /// Whole numbers up to 130, and those above 89 among them.
    ages: u64,
    ages_over_89: u64,
    birth_years_over_89: u64,
    plain_years: u64,
    three_digits: u64,
    /// Whole numbers and codes without white space.
    codes: u64,
}

impl Tally {
    fn of<'a>(
        values: impl IntoIterator<Item = &'a str>,
        subject: Subject,
        year_of_data: u32,
    ) -> Self {
        let mut tally = Self::default();
        for value in values {
            tally.take(value.trim(), subject, year_of_data);
        }
        tally
    }

    fn take(&mut self, value: &str, subject: Subject, year_of_data: u32) {
        self.distinct += 1;
        if let Some(sign) = pattern(value) {
            match self.patterns.iter_mut().find(|(known, _)| *known == sign) {
                Some((_, matches)) => *matches += 1,
                None => self.patterns.push((sign, 1)),
            }
        }
        if is_zip(value) {
            self.zips += 1;
            self.zips_from_zero += u64::from(value.starts_with('0'));
        }
        self.three_digits += u64::from(is_three_digit_area(value));
        let year = plain_year(value);
        self.plain_years += u64::from(year.is_some());
        self.codes += u64::from(is_code(value));
        if subject.is_age
            && let Ok(age) = value.parse::<f64>()
            && (0.0..=130.0).contains(&age)
        {
            self.ages += 1;
            self.ages_over_89 += u64::from(age >= 90.0);
        }
        if subject.is_birth
            && let Some(year) = year.or_else(|| date(value).and_then(|date| date.year))
        {
            self.birth_years_over_89 += u64::from(year + 90 <= year_of_data);
        }
    }

    fn share(&self, matches: u64) -> f64 {
        if self.distinct > 0 {
            matches as f64 / self.distinct as f64
        } else {
            0.0
        }
    }

    /// Whether the values are already as coarse as the rule allows for what the name speaks of.
    fn is_coarse_already(&self, subject: Subject) -> bool {
        let nearly_all = |matches| self.share(matches) >= 0.95;
        match subject.category {
            Some(Category::DatesAndAges) => nearly_all(self.plain_years),
            Some(Category::Geography) => subject.is_zip && nearly_all(self.three_digits),
            _ => false,
        }
    }

    /// Every sign with its share, those too rare left out.
    fn signs(&self, subject: Subject, filled_rows: u64) -> Vec<(Sign, f64)> {
        let mut signs = self.patterns.clone();
        let zips = self.share(self.zips);
        // Five digits alone may be any number; a name or a leading zero makes them a code.
        let are_zips = zips >= 0.5 && !self.is_coarse_already(subject);
        let from_zero = zips >= 0.95 && self.zips >= 20 && self.zips_from_zero > 0;
        if are_zips && (subject.is_zip || from_zero) {
            signs.retain(|(sign, _)| *sign != Sign::ZipValues);
            signs.push((Sign::ZipValues, self.zips));
        }
        if self.share(self.ages) >= 0.8 && self.ages_over_89 > 0 {
            signs.push((Sign::AgesOver89, self.ages_over_89));
        }
        if self.birth_years_over_89 > 0 {
            signs.push((Sign::BirthYearsOver89, self.birth_years_over_89));
        }
        let mut signs: Vec<(Sign, f64)> = signs
            .into_iter()
            .map(|(sign, matches)| (sign, self.share(matches)))
            .filter(|&(sign, share)| share >= sign.rule().1)
            .collect();
        let unique = filled_rows >= ROWS_FOR_UNIQUENESS && self.distinct == filled_rows;
        if signs.is_empty() && unique && self.share(self.codes) >= 0.95 {
            signs.push((Sign::UniquePerRow, self.share(self.codes)));
        }
        signs
    }
}

/// `021`, or padded with zeros or stars: `02100`, `021**`.
fn is_three_digit_area(value: &str) -> bool {
    value.len() >= 3
        && value.len() <= 5
        && value.bytes().enumerate().all(|(at, byte)| {
            (at < 3 && byte.is_ascii_digit()) || (at >= 3 && b"0*".contains(&byte))
        })
}

/// A whole number or a code: digits, letters, hyphens, with a digit; no white space and no decimal point.
fn is_code(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_/:".contains(&byte))
}

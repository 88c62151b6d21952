//! What a column's name speaks of.
//!
//! A name is cut into words at separators and at changes of case, and compared with phrases word by word, so `age` is
//! not found in `average` and `ip` not in `zip`. Phrases of one common word must be the whole name. The first rule
//! that matches decides: `email_address` is no street address.

use super::indicator::Category;
use super::name_rules::{NO_DATES, RULES};

/// What a name speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subject {
    /// The kind of identifier.
    pub(super) category: Option<Category>,
    /// An age in years.
    pub(super) is_age: bool,
    /// A birth.
    pub(super) is_birth: bool,
    /// A ZIP code.
    pub(super) is_zip: bool,
}

/// What a column's name speaks of.
pub(super) fn subject(name: &str) -> Subject {
    let words = words(name);
    let whole = words.concat();
    let has = |phrase: &str| {
        let length = phrase.split(' ').count();
        words
            .windows(length)
            .any(|window| window.iter().map(String::as_str).eq(phrase.split(' ')))
    };
    let ends_as_date = words
        .iter()
        .any(|word| word.ends_with("date") && !NO_DATES.contains(&word.as_str()));
    let category = RULES.iter().find(|(category, phrases, wholes)| {
        phrases.iter().any(|phrase| has(phrase))
            || wholes.contains(&whole.as_str())
            || (*category == Category::DatesAndAges && ends_as_date)
    });
    let other_unit = ["days", "months", "weeks", "hours", "day", "month"];
    Subject {
        category: category.map(|(category, ..)| *category),
        is_age: (has("age") || has("ages")) && !other_unit.into_iter().any(has),
        is_birth: words.iter().any(|word| {
            word.starts_with("birth") || ["born", "yob", "dob"].contains(&word.as_str())
        }),
        is_zip: [
            "zip",
            "zipcode",
            "zip3",
            "zip5",
            "postcode",
            "postal",
            "postalcode",
        ]
        .into_iter()
        .any(has),
    }
}

/// The words of a name in lower case: `patientNbr`, `patient_nbr` and `PATIENT-NBR` have two, `MRNNumber` too.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, &letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(at + 1);
        let starts = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if !letter.is_alphanumeric() || starts {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_at_separators_and_changes_of_case() {
        assert_eq!(words("patientNbr"), ["patient", "nbr"]);
        assert_eq!(words("PATIENT_NBR"), ["patient", "nbr"]);
        assert_eq!(words("MRNNumber"), ["mrn", "number"]);
        assert_eq!(
            words("default.payment-next month"),
            ["default", "payment", "next", "month"]
        );
        assert_eq!(words("__"), Vec::<String>::new());
    }

    #[test]
    fn a_name_is_recognised_in_any_notation() {
        let cases = [
            ("FIRST", Category::Names),
            ("patientLastName", Category::Names),
            ("email_address", Category::Email),
            ("Home Address", Category::Geography),
            ("client-ip-address", Category::IpAddress),
            ("BIRTHDATE", Category::DatesAndAges),
            ("admit_date", Category::DatesAndAges),
            ("patient_nbr", Category::MedicalRecord),
            ("Encounter ID", Category::OtherUniqueCode),
            ("ssn_hash", Category::SocialSecurity),
            ("licensePlate", Category::Vehicle),
            ("DRIVERS", Category::CertificateOrLicense),
            ("contact_fax", Category::Fax),
            ("Member ID", Category::HealthPlan),
            ("acct_no", Category::Account),
            ("photo", Category::Photograph),
            ("fingerprint", Category::Biometric),
            ("mac_address", Category::Device),
            ("personal_url", Category::Url),
            ("home_phone", Category::Telephone),
        ];
        for (name, category) in cases {
            assert_eq!(subject(name).category, Some(category), "{name}");
        }
    }

    #[test]
    fn ordinary_names_are_left_alone() {
        let names = [
            "drug_name",
            "average",
            "capacity",
            "candidate",
            "last_update",
            "admission_type_id",
            "payer_code",
            "native-country",
            "state",
            "marital-status",
            "time_in_hospital",
            "cell_count",
            "telemetry",
            "first_line_therapy",
            "package",
            "description",
            "family_size",
            "number_emergency",
            "race",
            "image_quality",
            "language",
        ];
        for name in names {
            assert_eq!(subject(name).category, None, "{name}");
            assert!(!subject(name).is_age && !subject(name).is_birth, "{name}");
        }
        assert!(subject("age_at_admission").is_age && !subject("age_in_days").is_age);
    }
}

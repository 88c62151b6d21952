//! Safe Harbor indicators on excerpts of public files: what is found, and what is left alone.

use kindred::anonymize::safe_harbor::{Category, Column, Evidence, Indicator, Sign, indicators};

const YEAR: u32 = 2020;

fn look(name: &str, values: &[&str]) -> Vec<Indicator> {
    let column = Column {
        name,
        filled_rows: values.len() as u64,
    };
    indicators(column, values.iter().copied(), YEAR)
}

/// Category and sign of each indicator.
fn signs(name: &str, values: &[&str]) -> Vec<(Category, Sign)> {
    let found = look(name, values);
    found.iter().map(|one| (one.category, one.sign)).collect()
}

#[test]
fn every_identifier_of_a_patient_table_is_found_and_nothing_else() {
    use Category::{
        CertificateOrLicense, DatesAndAges, Geography, Names, OtherUniqueCode, SocialSecurity,
    };
    // Synthetic people of Synthea's sample output: two rows of each column.
    type Expected<'a> = (&'a str, [&'a str; 2], Option<Category>);
    let table: [Expected<'_>; 21] = [
        (
            "Id",
            [
                "1d604da9-9a81-4ba9-80c2-de3375d59b40",
                "034e9e3b-2def-4559-bb2a-7850888ae060",
            ],
            Some(OtherUniqueCode),
        ),
        (
            "BIRTHDATE",
            ["1989-05-25", "1983-11-14"],
            Some(DatesAndAges),
        ),
        (
            "DEATHDATE",
            ["2019-08-07", "2020-03-30"],
            Some(DatesAndAges),
        ),
        ("SSN", ["999-76-6866", "999-73-5361"], Some(SocialSecurity)),
        (
            "DRIVERS",
            ["S99984236", "S99962402"],
            Some(CertificateOrLicense),
        ),
        (
            "PASSPORT",
            ["X19277260X", "X88275464X"],
            Some(CertificateOrLicense),
        ),
        ("PREFIX", ["Mr.", "Mrs."], None),
        ("FIRST", ["José Eduardo181", "Milo271"], Some(Names)),
        ("LAST", ["Gómez206", "Feil794"], Some(Names)),
        ("MAIDEN", ["Adams676", "Zieme486"], Some(Names)),
        ("MARITAL", ["M", "S"], None),
        ("RACE", ["white", "black"], None),
        ("ETHNICITY", ["hispanic", "nonhispanic"], None),
        ("GENDER", ["M", "F"], None),
        (
            "BIRTHPLACE",
            [
                "Marigot  Saint Andrew Parish  DM",
                "Danvers  Massachusetts  US",
            ],
            Some(Geography),
        ),
        (
            "ADDRESS",
            ["427 Balistreri Way Unit 19", "422 Farrell Path Unit 69"],
            Some(Geography),
        ),
        ("CITY", ["Chicopee", "Somerville"], Some(Geography)),
        ("STATE", ["Massachusetts", "Vermont"], None),
        ("ZIP", ["01013", "02143"], Some(Geography)),
        (
            "LAT",
            ["42.22835382315942", "42.36069732777065"],
            Some(Geography),
        ),
        ("HEALTHCARE_EXPENSES", ["271227.08", "793946.01"], None),
    ];
    for (name, values, expected) in table {
        let found = look(name, &values);
        assert_eq!(found.first().map(|one| one.category), expected, "{name}");
        assert!(
            found.iter().all(|one| Some(one.category) == expected),
            "{name}"
        );
    }
}

#[test]
fn a_census_extract_has_no_identifier_but_ages_over_89() {
    // Adult: header and some values.
    let table: [(&str, &[&str]); 9] = [
        ("sex", &["Male", "Female"]),
        ("age", &["17", "39", "50", "88", "89"]),
        ("race", &["White", "Asian-Pac-Islander"]),
        ("marital-status", &["Never-married", "Married-civ-spouse"]),
        ("education", &["Bachelors", "HS-grad", "9th", "1st-4th"]),
        ("native-country", &["United-States", "Trinadad&Tobago"]),
        ("workclass", &["State-gov", "Self-emp-not-inc"]),
        ("occupation", &["Adm-clerical", "Exec-managerial"]),
        ("salary-class", &["<=50K", ">50K"]),
    ];
    for (name, values) in table {
        assert_eq!(look(name, values), Vec::new(), "{name}");
    }
    let over = look("age", &["17", "39", "89", "90"]);
    assert_eq!(over.len(), 1);
    assert_eq!(over[0].sign, Sign::AgesOver89);
    assert_eq!(over[0].evidence, Evidence::Values);
    assert_eq!(over[0].share, Some(0.25));
}

#[test]
fn a_hospital_table_has_its_two_numbers_and_nothing_else() {
    // Diabetes 130-US hospitals: codes, counts, intervals, ICD-9.
    let table: [(&str, &[&str], Option<Category>); 14] = [
        (
            "encounter_id",
            &["2278392", "149190"],
            Some(Category::OtherUniqueCode),
        ),
        (
            "patient_nbr",
            &["8222157", "55629189"],
            Some(Category::MedicalRecord),
        ),
        ("age", &["[0-10)", "[10-20)", "[90-100)"], None),
        ("weight", &["[75-100)", ">200"], None),
        ("admission_type_id", &["6", "1", "2"], None),
        ("discharge_disposition_id", &["25", "1", "3"], None),
        ("admission_source_id", &["1", "7"], None),
        ("time_in_hospital", &["1", "14"], None),
        ("payer_code", &["MC", "HM"], None),
        (
            "medical_specialty",
            &["Pediatrics-Endocrinology", "Cardiology"],
            None,
        ),
        ("num_lab_procedures", &["41", "59", "91"], None),
        ("number_emergency", &["0", "64"], None),
        ("diag_1", &["250.83", "276", "V57"], None),
        ("readmitted", &["NO", ">30", "<30"], None),
    ];
    for (name, values, expected) in table {
        let found = look(name, values);
        assert_eq!(found.first().map(|one| one.category), expected, "{name}");
        assert!(found.len() <= 1, "{name}");
    }
}

#[test]
fn uc_15_a_birth_year_that_implies_ninety_is_told() {
    // In 2020 whoever was born in 1930 may be 90, in 1931 not yet.
    assert_eq!(signs("birth_year", &["1931", "1999"]), []);
    assert_eq!(
        signs("birth_year", &["1930", "1999"]),
        [(Category::DatesAndAges, Sign::BirthYearsOver89)]
    );
    assert_eq!(signs("model_year", &["1930", "1999"]), []);
    let dates = signs("BIRTHDATE", &["1909-12-22", "1989-05-25"]);
    assert!(dates.contains(&(Category::DatesAndAges, Sign::BirthYearsOver89)));
    assert!(dates.contains(&(Category::DatesAndAges, Sign::DateValues)));
}

#[test]
fn uc_16_zip_codes_of_three_digits_are_left_alone() {
    assert_eq!(signs("zip", &["021", "000", "170"]), []);
    assert_eq!(signs("zip", &["02100", "00000", "17000"]), []);
    let found = signs("zip", &["02139", "17011-1402"]);
    assert!(found.contains(&(Category::Geography, Sign::ZipValues)));
    // Without a name: +4 codes, or many five-digit codes some of which begin with 0; amounts do not.
    assert_eq!(
        signs("region", &["17011-1402", "20589-7352"]),
        [(Category::Geography, Sign::ZipValues)]
    );
    let codes: Vec<String> = (1001..1040).map(|code| format!("{code:05}")).collect();
    let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
    assert_eq!(
        signs("region", &codes),
        [(Category::Geography, Sign::ZipValues)]
    );
    let amounts: Vec<String> = (10_010..10_050).map(|amount| amount.to_string()).collect();
    let amounts: Vec<&str> = amounts.iter().map(String::as_str).collect();
    assert_eq!(signs("amount", &amounts), []);
}

#[test]
fn a_hash_of_an_identifier_is_an_identifier() {
    let digests = [
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
    ];
    assert_eq!(
        signs("code", &digests),
        [(Category::OtherUniqueCode, Sign::HashOrUuidValues)]
    );
}

#[test]
fn one_address_in_a_hundred_remarks_is_told() {
    let mut remarks: Vec<String> = (0..99).map(|day| format!("seen on ward {day}")).collect();
    remarks.push("someone@example.org".to_owned());
    let remarks: Vec<&str> = remarks.iter().map(String::as_str).collect();
    let found = look("remark", &remarks);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].category, found[0].share),
        (Category::Email, Some(0.01))
    );
}

#[test]
fn a_number_that_differs_in_every_row_is_a_code() {
    let numbers: Vec<String> = (0..100).map(|row| (7_000 + 3 * row).to_string()).collect();
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    assert_eq!(
        signs("ref", &numbers),
        [(Category::OtherUniqueCode, Sign::UniquePerRow)]
    );
    assert_eq!(signs("ref", &numbers[..99]), []);
    let column = Column {
        name: "ref",
        filled_rows: 101,
    };
    assert_eq!(indicators(column, numbers, YEAR), []);
}

#[test]
fn a_date_column_of_years_only_is_left_alone() {
    assert_eq!(signs("admission_date", &["2001", "2019"]), []);
    assert_eq!(signs("admission_date", &[]).len(), 1);
    assert_eq!(
        signs("START", &["2001-05-01", "2011-08-09"]),
        [(Category::DatesAndAges, Sign::DateValues)]
    );
}

#[test]
fn telephone_numbers_in_a_column_called_fax_are_fax_numbers() {
    let found = signs("fax_no", &["(617) 555-0123", "617-555-0199"]);
    let categories: Vec<Category> = found.iter().map(|(category, _)| *category).collect();
    assert_eq!(categories, [Category::Fax, Category::Fax]);
}

#[test]
fn an_indicator_never_holds_a_cell_value() {
    let found = look("contact", &["someone@example.org", "another@example.org"]);
    let json = serde_json::to_string(&found).unwrap();
    assert_eq!(
        json,
        r#"[{"column":"contact","category":"email","evidence":"values","sign":"email_values","share":1.0}]"#
    );
}

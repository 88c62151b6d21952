//! What single values look like. Hand-written matchers: no text is kept, and each value is read once per pattern.

use super::indicator::Sign;
use super::zip3::is_zip;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Lengths of hexadecimal digests: MD5, SHA-1, SHA-224, SHA-256, SHA-384, SHA-512.
const DIGESTS: [usize; 6] = [32, 40, 56, 64, 96, 128];

/// The pattern that a value matches whatever its column is called, if any. The patterns exclude each other.
pub(super) fn pattern(value: &str) -> Option<Sign> {
    let value = value.trim();
    if value.is_empty() || value.len() > 2_000 {
        return None;
    }
    if is_email(value) {
        Some(Sign::EmailValues)
    } else if is_url(value) {
        Some(Sign::UrlValues)
    } else if is_social_security(value) {
        Some(Sign::SocialSecurityValues)
    } else if value.parse::<std::net::IpAddr>().is_ok() {
        Some(Sign::IpAddressValues)
    } else if date(value).is_some() || is_month(value) {
        Some(Sign::DateValues)
    } else if is_telephone(value) {
        Some(Sign::TelephoneValues)
    } else if is_uuid(value) || is_digest(value) {
        Some(Sign::HashOrUuidValues)
    } else if is_hardware_address(value) {
        Some(Sign::HardwareAddressValues)
    } else if is_vehicle_number(value) {
        Some(Sign::VehicleNumberValues)
    } else if value.contains('-') && is_zip(value) {
        Some(Sign::ZipValues)
    } else {
        None
    }
}

fn is_email(value: &str) -> bool {
    let Some((local, domain)) = value.split_once('@') else {
        return false;
    };
    let Some((host, top)) = domain.rsplit_once('.') else {
        return false;
    };
    let plain = |text: &str| {
        !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || "@,;<>".contains(c))
    };
    plain(local) && plain(host) && top.len() >= 2 && top.chars().all(char::is_alphabetic)
}

fn is_url(value: &str) -> bool {
    let starts = |prefix: &str| {
        value
            .get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    ["http://", "https://", "ftp://", "www."]
        .into_iter()
        .any(|prefix| value.len() > prefix.len() && starts(prefix))
}

/// `ddd-dd-dddd`, no group all zeros.
fn is_social_security(value: &str) -> bool {
    let mut groups = value.split('-');
    let fits = [3, 2, 4].into_iter().all(|length| {
        groups
            .next()
            .is_some_and(|group| number(group, length).is_some_and(|number| number > 0))
    });
    fits && groups.next().is_none()
}

/// A number of exactly `length` digits.
fn number(text: &str, length: usize) -> Option<u32> {
    let plain = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// `+` and 8 to 15 digits, or 3-3-4 digits with separators and perhaps a leading 1.
fn is_telephone(value: &str) -> bool {
    let known = |c: char| c.is_ascii_digit() || " -.()+/".contains(c);
    if !value.chars().all(known) {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    if let Some(rest) = value.strip_prefix('+') {
        return !rest.contains('+') && (8..=15).contains(&digits);
    }
    let mut groups = value
        .split(|c: char| !c.is_ascii_digit())
        .filter(|group| !group.is_empty())
        .map(str::len)
        .peekable();
    if groups.peek() == Some(&1) && value.starts_with('1') {
        groups.next();
    }
    groups.eq([3, 3, 4])
}

/// The month's English name or its first three letters.
fn is_month(value: &str) -> bool {
    month(value).is_some()
}

fn month(text: &str) -> Option<u32> {
    let text = text.trim_end_matches('.');
    let position = MONTHS.iter().position(|name| {
        text.eq_ignore_ascii_case(name) || text.eq_ignore_ascii_case(&name[..3])
    })?;
    u32::try_from(position + 1).ok()
}

/// A date that is finer than a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    /// Its year; `None` if written with two digits.
    pub(super) year: Option<u32>,
}

impl Date {
    fn checked(year: Option<u32>, month: u32, day: u32) -> Option<Self> {
        let sound = (1800..2200).contains(&year.unwrap_or(2000))
            && (1..=12).contains(&month)
            && (1..=31).contains(&day);
        sound.then_some(Self { year })
    }
}

/// A date in a common notation: year first or last, with `-`, `/` or `.`; `20010528`; `28-MAY-2001`; `May 28, 2001`;
/// without a day `2001-05`. A time may follow an ISO date.
pub(super) fn date(value: &str) -> Option<Date> {
    if let Some(digits) = number(value, 8) {
        return Date::checked(Some(digits / 10_000), digits / 100 % 100, digits % 100);
    }
    // The time of `2001-05-28T10:00` or `2001-05-28 10:00`.
    let text = match (value.get(..10), value.get(10..)) {
        (Some(date), Some(time)) if time.starts_with(['T', ' ']) && time.contains(':') => date,
        _ => value,
    };
    let mut parts = text
        .split(['-', '/', '.', ' ', ','])
        .filter(|part| !part.is_empty());
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    let short = |text: &str| number(text, 2).or_else(|| number(text, 1));
    let year = |text: &str| number(text, 4);
    let Some(third) = third else {
        // 2001-05 and 05/2001.
        let (year, month) = year(first)
            .map(|year| (year, second))
            .or_else(|| year(second).map(|year| (year, first)))?;
        let separated = text.contains(['-', '/']);
        return Date::checked(Some(year), short(month)?, 1).filter(|_| separated);
    };
    if let Some(year) = year(first) {
        let month = month(second).or_else(|| short(second))?;
        return Date::checked(Some(year), month, short(third)?);
    }
    let (day, month) = match (month(first), month(second)) {
        (Some(month), None) => (short(second)?, month),
        (None, Some(month)) => (short(first)?, month),
        // Day and month in either order.
        (None, None) => {
            let (first, second) = (short(first)?, short(second)?);
            (first.max(second), first.min(second))
        }
        (Some(_), Some(_)) => return None,
    };
    let year = match year(third) {
        Some(year) => Some(year),
        None => number(third, 2).map(|_| None)?,
    };
    Date::checked(year, month, day)
}

/// A year alone, `dddd`.
pub(super) fn plain_year(value: &str) -> Option<u32> {
    number(value.trim(), 4).filter(|year| (1800..2200).contains(year))
}

fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && value
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// A hexadecimal digest of a usual length, or MD5 or SHA-256 in base 64.
fn is_digest(value: &str) -> bool {
    let hexadecimal =
        DIGESTS.contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    let base64 = |length: usize, padding: &str| {
        value.len() == length
            && value.strip_suffix(padding).is_some_and(|body| {
                body.bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte))
            })
    };
    hexadecimal || base64(44, "=") || base64(24, "==")
}

/// Six pairs of hexadecimal digits.
fn is_hardware_address(value: &str) -> bool {
    let pairs = |separator: char| {
        let fits = |pair: &str| pair.len() == 2 && pair.bytes().all(|b| b.is_ascii_hexdigit());
        value.split(separator).count() == 6 && value.split(separator).all(fits)
    };
    pairs(':') || pairs('-')
}

/// A vehicle identification number with a right check digit (49 CFR 565.15).
fn is_vehicle_number(value: &str) -> bool {
    const WEIGHTS: [u32; 17] = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
    const LETTERS: &[u8; 26] = b"12345678\x0012345\x007\x00923456789";
    if value.len() != 17 {
        return false;
    }
    let mut sum = 0;
    for (byte, weight) in value.bytes().zip(WEIGHTS) {
        let worth = match byte.to_ascii_uppercase() {
            digit @ b'0'..=b'9' => digit - b'0',
            letter @ b'A'..=b'Z' => match LETTERS[usize::from(letter - b'A')] {
                0 => return false,
                digit => digit - b'0',
            },
            _ => return false,
        };
        sum += u32::from(worth) * weight;
    }
    let check = match value.as_bytes()[8] {
        b'X' | b'x' => 10,
        digit => u32::from(digit.wrapping_sub(b'0')),
    };
    sum % 11 == check
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pattern_is_recognised() {
        let cases = [
            ("a.b@c.example.org", Sign::EmailValues),
            ("https://example.org/x", Sign::UrlValues),
            ("WWW.example.org", Sign::UrlValues),
            ("999-76-6866", Sign::SocialSecurityValues),
            ("192.168.0.1", Sign::IpAddressValues),
            ("2001:db8::1", Sign::IpAddressValues),
            ("1989-05-25", Sign::DateValues),
            ("25.5.1989", Sign::DateValues),
            ("5/25/89", Sign::DateValues),
            ("19890525", Sign::DateValues),
            ("25-MAY-1989", Sign::DateValues),
            ("May 25, 1989", Sign::DateValues),
            ("1989-05-25T10:00:00Z", Sign::DateValues),
            ("1989-05", Sign::DateValues),
            ("January", Sign::DateValues),
            ("(617) 555-0123", Sign::TelephoneValues),
            ("1-617-555-0123", Sign::TelephoneValues),
            ("+49 30 123456", Sign::TelephoneValues),
            (
                "1d604da9-9a81-4ba9-80c2-de3375d59b40",
                Sign::HashOrUuidValues,
            ),
            ("d41d8cd98f00b204e9800998ecf8427e", Sign::HashOrUuidValues),
            ("1B2M2Y8AsgTpgAmY7PhCfg==", Sign::HashOrUuidValues),
            ("00:1A:2b:3c:4d:5e", Sign::HardwareAddressValues),
            ("1M8GDM9AXKP042788", Sign::VehicleNumberValues),
            ("17011-1402", Sign::ZipValues),
        ];
        for (value, sign) in cases {
            assert_eq!(pattern(value), Some(sign), "{value}");
        }
    }

    #[test]
    fn common_values_match_nothing() {
        let values = [
            "",
            "39",
            "1989",
            "250.83",
            "V57",
            "[10-20)",
            "<=50K",
            "12.5",
            "2001.5",
            "40055000",
            "Never-married",
            "Pediatrics-Endocrinology",
            "427 Balistreri Way Unit 19",
            "271227.08",
            "-72.56295055096882",
            "02139",
            "1M8GDM9AXKP042789",
            "2001-13-01",
            "1-2",
            "@",
            "a@b",
            "999-00-1234",
            "é-é-é",
            "2001-05-2é 10:00",
        ];
        for value in values {
            assert_eq!(pattern(value), None, "{value}");
        }
    }

    #[test]
    fn the_year_of_a_date_is_found_where_it_is_written() {
        let year = |value| date(value).map(|date| date.year);
        assert_eq!(year("1989-05-25"), Some(Some(1989)));
        assert_eq!(year("25/05/1989"), Some(Some(1989)));
        assert_eq!(year("5/25/89"), Some(None));
        assert_eq!(year("1989"), None);
        assert_eq!(plain_year("1989"), Some(1989));
        assert_eq!(plain_year("0042"), None);
    }
}

//! Date formats (`strftime`): which ones say a whole date.

use std::fmt::Write;

use chrono::format::{Item, StrftimeItems};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Utc};

/// What is wrong with a format, if it cannot be read back to a calendar date.
pub(super) fn fault_of(format: &str) -> Option<&'static str> {
    if StrftimeItems::new(format).any(|item| matches!(item, Item::Error)) {
        return Some("the format holds an unknown `%` specifier");
    }
    let sample = NaiveDate::from_ymd_opt(2001, 11, 23)?;
    let written = written(sample.and_time(NaiveTime::MIN), format);
    let read = written.and_then(|text| NaiveDate::parse_from_str(&text, format).ok());
    if read == Some(sample) {
        None
    } else {
        Some("the format does not say year, month and day")
    }
}

/// Whether a format distinguishes two moments of one day.
pub(crate) fn has_time_of_day(format: &str) -> bool {
    let at = |hour| {
        let day = NaiveDate::from_ymd_opt(2001, 11, 23)?;
        let moment = day.and_hms_milli_opt(hour, u32::from(hour > 0) * 7, hour, hour)?;
        written(moment, format)
    };
    at(0) != at(13)
}

/// Whether texts in the format say how far their clock is from another: two alike may then be different moments.
pub(crate) fn has_offset(format: &str) -> bool {
    let mut text = String::new();
    write!(text, "{}", NaiveDateTime::default().format(format)).is_err()
}

/// Seconds between two moments that the format just tells apart: 1, 60 or 3,600; 86,400 without a time of day.
pub(crate) fn seconds_told(format: &str) -> i64 {
    let at = |seconds| {
        let moment = DateTime::from_timestamp(seconds, 0)?;
        written(moment.naive_utc(), format)
    };
    let tells = |seconds: &i64| at(36_000) != at(36_000 + seconds);
    [1, 60, 3_600].into_iter().find(tells).unwrap_or(86_400)
}

fn written(moment: NaiveDateTime, format: &str) -> Option<String> {
    let mut text = String::new();
    let moment = Utc.from_utc_datetime(&moment);
    write!(text, "{}", moment.format(format)).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_must_say_a_whole_date() {
        for format in [
            "%Y-%m-%d",
            "%d.%m.%Y",
            "%Y-%m-%d %H:%M:%S%.3f",
            "%d-%b-%y",
            "%Y%m%d",
        ] {
            assert_eq!(fault_of(format), None, "{format}");
        }
        for format in ["%Y-%m", "%Q", "", "date", "%H:%M"] {
            assert!(fault_of(format).is_some(), "{format}");
        }
    }

    #[test]
    fn only_clock_specifiers_are_a_time_of_day() {
        assert!(!has_time_of_day("%Y-%m-%d"));
        assert!(has_time_of_day("%Y-%m-%d %H:%M"));
        assert!(has_time_of_day("%Y-%m-%dT%H:%M:%S%.3f"));
    }
    #[test]
    fn a_format_tells_moments_apart_by_its_finest_unit() {
        let units = [
            ("%Y-%m-%d", 86_400),
            ("%Y-%m-%d %H", 3_600),
            ("%I:%M %p %Y-%m-%d", 60),
            ("%Y-%m-%dT%H:%M:%S%z", 1),
        ];
        for (format, seconds) in units {
            assert_eq!(seconds_told(format), seconds, "{format}");
            assert_eq!(has_offset(format), format.ends_with("%z"), "{format}");
        }
        assert!(has_offset("%+") && has_offset("%Y-%m-%d %H:%M %:z"));
    }
}

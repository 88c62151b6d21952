//! Chooses the form of an answer from `?format=` or `Accept` (RFC 9110 §12.5.1).
//!
//! `?format=` wins. Without either, or with a range that covers everything, the first form offered is answered. A
//! range of higher quality wins; at equal quality the order of the offer decides; the most specific range that covers
//! a form gives it its quality.

use axum::http::{HeaderMap, header};

use super::problem::{Code, Problem};
use crate::form::Form;

/// Name in `?format=` and media type of a form.
fn names(form: Form) -> (&'static str, &'static str) {
    match form {
        Form::Json => ("json", "application/json"),
        Form::Csv => ("csv", "text/csv"),
        Form::Ndjson => ("ndjson", "application/x-ndjson"),
    }
}

/// The `Content-Type` of a form.
pub(super) fn content_type(form: Form) -> &'static str {
    match form {
        Form::Csv => "text/csv; charset=utf-8; header=present",
        Form::Json | Form::Ndjson => names(form).1,
    }
}

/// The file name ending of a form.
pub(super) fn ending(form: Form) -> &'static str {
    names(form).0
}

/// Chooses one of the forms offered (the first is the default).
pub(super) fn choose(
    headers: &HeaderMap,
    format: Option<&str>,
    offered: &[Form],
) -> Result<Form, Problem> {
    let chosen = match format {
        Some(format) => offered.iter().copied().find(|&form| {
            let (name, media_type) = names(form);
            format.eq_ignore_ascii_case(name) || format.eq_ignore_ascii_case(media_type)
        }),
        None => accepted(headers, offered),
    };
    chosen.ok_or_else(|| {
        let names: Vec<_> = offered.iter().map(|&form| names(form).1).collect();
        let names = names.join("`, `");
        Problem::new(
            Code::NotAcceptable,
            format!("this answer comes as `{names}`; other forms are not built in"),
        )
    })
}

fn accepted(headers: &HeaderMap, offered: &[Form]) -> Option<Form> {
    let ranges: Vec<(String, f32)> = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(range)
        .collect();
    if ranges.is_empty() {
        return offered.first().copied();
    }
    let mut best: Option<(Form, f32)> = None;
    for &form in offered {
        let quality = quality(names(form).1, &ranges);
        if quality > best.map_or(0.0, |(_, quality)| quality) {
            best = Some((form, quality));
        }
    }
    best.map(|(form, _)| form)
}

/// One media range and its quality; an unreadable quality is 0.
fn range(text: &str) -> Option<(String, f32)> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next().filter(|media| !media.is_empty())?;
    let quality = parts
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
        .map_or(1.0, |(_, value)| value.trim().parse().unwrap_or(0.0));
    Some((media.to_ascii_lowercase(), quality))
}

fn quality(media_type: &str, ranges: &[(String, f32)]) -> f32 {
    let group = media_type.split('/').next().unwrap_or_default();
    let whole_group = format!("{group}/*");
    [media_type, &whole_group, "*/*"]
        .into_iter()
        .find_map(|wanted| ranges.iter().find(|(range, _)| range == wanted))
        .map_or(0.0, |(_, quality)| *quality)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFERED: &[Form] = &[Form::Csv, Form::Json, Form::Ndjson];

    fn chosen(accept: Option<&str>, format: Option<&str>) -> Option<Form> {
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            headers.insert(header::ACCEPT, accept.parse().unwrap());
        }
        choose(&headers, format, OFFERED).ok()
    }

    #[test]
    fn the_first_form_is_the_default() {
        assert_eq!(chosen(None, None), Some(Form::Csv));
        assert_eq!(chosen(Some("*/*"), None), Some(Form::Csv));
        assert_eq!(chosen(Some(""), None), Some(Form::Csv));
    }

    #[test]
    fn quality_and_specificity_decide() {
        assert_eq!(chosen(Some("application/json"), None), Some(Form::Json));
        assert_eq!(
            chosen(Some("text/csv;q=0.1, application/*;q=0.5"), None),
            Some(Form::Json)
        );
        assert_eq!(
            chosen(Some("*/*;q=0.1, Application/X-NDJSON"), None),
            Some(Form::Ndjson)
        );
        assert_eq!(chosen(Some("*/*, text/csv;q=0"), None), Some(Form::Json));
    }

    #[test]
    fn an_unknown_form_is_refused() {
        assert_eq!(chosen(Some("application/vnd.apache.parquet"), None), None);
        assert_eq!(chosen(Some("image/png"), None), None);
        assert_eq!(chosen(Some("text/csv;q=0"), None), None);
        assert_eq!(chosen(None, Some("xlsx")), None);
        assert_eq!(chosen(None, Some("parquet")), None);
    }

    #[test]
    fn the_parameter_wins_over_the_header() {
        assert_eq!(
            chosen(Some("text/csv"), Some("application/x-ndjson")),
            Some(Form::Ndjson)
        );
        assert_eq!(chosen(Some("image/png"), Some("json")), Some(Form::Json));
    }
}

//! Reads cells of classes: intervals, sets and single values.

/// One thing that a cell stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Element {
    /// A missing cell.
    Missing,
    /// A value.
    Value(String),
    /// All values between two, both included.
    Interval(String, String),
}

/// What a cell stands for; `None` if it is not well written.
pub(super) fn parse(cell: &str) -> Option<Vec<Element>> {
    let mut reader = Reader { rest: cell };
    let elements = match cell.chars().next() {
        Some('{') => {
            reader.eat('{')?;
            let mut elements = vec![reader.element()?];
            while reader.eat(',').is_some() {
                reader.eat(' ')?;
                elements.push(reader.element()?);
            }
            reader.eat('}')?;
            elements
        }
        Some('[') => vec![reader.interval()?],
        Some('\\') => return None,
        _ => return Some(vec![Element::Value(cell.to_owned())]),
    };
    reader.rest.is_empty().then_some(elements)
}

struct Reader<'c> {
    rest: &'c str,
}

impl Reader<'_> {
    fn eat(&mut self, letter: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(letter)?;
        Some(())
    }

    fn element(&mut self) -> Option<Element> {
        if self.rest.starts_with('[') {
            return self.interval();
        }
        if let Some(rest) = self.rest.strip_prefix("\\N") {
            self.rest = rest;
            return Some(Element::Missing);
        }
        self.value().map(Element::Value)
    }

    fn interval(&mut self) -> Option<Element> {
        self.eat('[')?;
        let low = self.value()?;
        self.eat(',')?;
        self.eat(' ')?;
        let high = self.value()?;
        self.eat(']')?;
        Some(Element::Interval(low, high))
    }

    /// Letters up to the next that stands for itself and is none of a value.
    fn value(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut letters = self.rest.char_indices();
        while let Some((place, letter)) = letters.next() {
            match letter {
                ',' | ']' | '}' => {
                    self.rest = &self.rest[place..];
                    return Some(text);
                }
                '[' | '{' => return None,
                '\\' => {
                    let (_, escaped) = letters.next()?;
                    matches!(escaped, '\\' | ',' | '[' | ']' | '{' | '}').then_some(())?;
                    text.push(escaped);
                }
                letter => text.push(letter),
            }
        }
        self.rest = "";
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_read_as_they_are_meant() {
        let value = |text: &str| Element::Value(text.to_owned());
        let interval = |low: &str, high: &str| Element::Interval(low.to_owned(), high.to_owned());
        let cases = [
            ("Kiel", vec![value("Kiel")]),
            ("a, b", vec![value("a, b")]),
            (r"{\{a\, b\}}", vec![value("{a, b}")]),
            ("{a, b}", vec![value("a"), value("b")]),
            (r"{\N, \\N}", vec![Element::Missing, value(r"\N")]),
            ("[1, 2.5]", vec![interval("1", "2.5")]),
            (r"{\N, [1, 2]}", vec![Element::Missing, interval("1", "2")]),
        ];
        for (cell, elements) in cases {
            assert_eq!(parse(cell), Some(elements), "{cell}");
        }
        for cell in ["{a", "[1]", "[1, 2", r"\N", "{a}b", "{a,b}", r"{\x}"] {
            assert_eq!(parse(cell), None, "{cell}");
        }
    }
}

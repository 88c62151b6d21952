//! Cuts one JSON array of objects into its objects without reading them: strings, depth and lines are all it follows.
//!
//! An object that is cut out may still be malformed; whoever parses it finds that. Only one object is in memory.

use crate::fault::FaultCode;

use super::RECORD_BYTES;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the array.
    Start,
    /// After `[`: an object or the end.
    First,
    /// After a comma: an object.
    Value,
    /// In an object.
    Object,
    /// After an object: a comma or the end.
    Separator,
    /// After the array.
    End,
}

/// What the splitter found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The chunk is used up.
    Nothing,
    /// An object is whole: see [`Splitter::object`].
    Object,
    /// The text is not one array of objects; nothing more can be found.
    Fault(FaultCode, &'static str),
}

/// A place in the text, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub line: u64,
    /// In bytes.
    pub column: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Splitter {
    state: State,
    depth: usize,
    in_string: bool,
    escaped: bool,
    object: Vec<u8>,
    begin: Position,
    here: Position,
}

impl Splitter {
    pub(super) fn new() -> Self {
        let start = Position { line: 1, column: 1 };
        Self {
            state: State::Start,
            depth: 0,
            in_string: false,
            escaped: false,
            object: Vec::new(),
            begin: start,
            here: start,
        }
    }

    /// The object found last.
    pub(super) fn object(&self) -> &[u8] {
        &self.object
    }

    /// Where that object begins.
    pub(super) fn begin(&self) -> Position {
        self.begin
    }

    /// The place of the byte that comes next, or of the one that is a fault.
    pub(super) fn here(&self) -> Position {
        self.here
    }

    /// Whether nothing but white space was met.
    pub(super) fn is_blank(&self) -> bool {
        self.state == State::Start
    }

    /// Reads on until something is found; gives the bytes read.
    pub(super) fn feed(&mut self, chunk: &[u8]) -> (usize, Found) {
        let mut at = 0;
        while at < chunk.len() {
            if self.state == State::Object {
                let (bytes, whole) = self.in_object(&chunk[at..]);
                at += bytes;
                if whole {
                    self.state = State::Separator;
                    return (at, Found::Object);
                }
                if self.object.len() > RECORD_BYTES {
                    let fault =
                        Found::Fault(FaultCode::InvalidValue, "the record is longer than 16 MiB");
                    return (at, fault);
                }
                continue;
            }
            let byte = chunk[at];
            if let Some(fault) = self.between(byte) {
                return (at, fault);
            }
            // The brace that opens an object is read again as its first byte.
            if self.state != State::Object {
                self.advance(byte);
                at += 1;
            }
        }
        (at, Found::Nothing)
    }

    /// What the end of the text means here.
    pub(super) fn finish(&self) -> Found {
        match self.state {
            State::End => Found::Nothing,
            _ => Found::Fault(
                FaultCode::MalformedJson,
                "the text ends before the array does",
            ),
        }
    }

    fn advance(&mut self, byte: u8) {
        if byte == b'\n' {
            self.here.line += 1;
            self.here.column = 1;
        } else {
            self.here.column += 1;
        }
    }

    fn between(&mut self, byte: u8) -> Option<Found> {
        if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            return None;
        }
        let malformed = |detail| Some(Found::Fault(FaultCode::MalformedJson, detail));
        match (self.state, byte) {
            (State::Start, b'[') => self.state = State::First,
            (State::First | State::Value, b'{') => {
                self.state = State::Object;
                self.begin = self.here;
                self.object.clear();
                self.depth = 0;
            }
            (State::First | State::Separator, b']') => self.state = State::End,
            (State::Separator, b',') => self.state = State::Value,
            (State::Start, b'{') => {
                let detail = "one array of objects is expected; one object per line is `application/x-ndjson`";
                return Some(Found::Fault(FaultCode::WrongType, detail));
            }
            (State::Start, _) => return malformed("`[` is expected"),
            (
                State::First | State::Value,
                b'"' | b'-' | b'0'..=b'9' | b'[' | b't' | b'f' | b'n',
            ) => {
                let detail = "every element of the array must be an object";
                return Some(Found::Fault(FaultCode::WrongType, detail));
            }
            (State::First | State::Value, _) => return malformed("`{` is expected"),
            (State::Separator, _) => return malformed("`,` or `]` is expected"),
            (State::End | State::Object, _) => return malformed("nothing may follow the array"),
        }
        None
    }

    /// Takes bytes of the object up to its closing brace.
    fn in_object(&mut self, chunk: &[u8]) -> (usize, bool) {
        let mut line_begin = None;
        let mut taken = chunk.len();
        let mut whole = false;
        for (index, &byte) in chunk.iter().enumerate() {
            if byte == b'\n' {
                self.here.line += 1;
                line_begin = Some(index + 1);
            }
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        taken = index + 1;
                        whole = true;
                        break;
                    }
                }
                _ => {}
            }
        }
        self.object.extend_from_slice(&chunk[..taken]);
        match line_begin {
            None => self.here.column += taken as u64,
            Some(begin) => self.here.column = 1 + (taken - begin) as u64,
        }
        (taken, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects and the last thing found, feeding `size` bytes at a time.
    fn split(text: &str, size: usize) -> (Vec<(String, Position)>, Found) {
        let mut splitter = Splitter::new();
        let mut objects = Vec::new();
        for mut chunk in text.as_bytes().chunks(size) {
            while !chunk.is_empty() {
                let (bytes, found) = splitter.feed(chunk);
                chunk = &chunk[bytes..];
                match found {
                    Found::Nothing => {}
                    Found::Object => {
                        let object = String::from_utf8(splitter.object().to_vec()).unwrap();
                        objects.push((object, splitter.begin()));
                    }
                    fault @ Found::Fault(..) => return (objects, fault),
                }
            }
        }
        (objects, splitter.finish())
    }

    #[test]
    fn objects_are_cut_out_wherever_the_chunks_end() {
        let text = "[\n  {\"a\": \"}\\\"]\", \"b\": [{}]},\n{\"a\": 1}\n]\n";
        let expected = vec![
            (
                "{\"a\": \"}\\\"]\", \"b\": [{}]}".to_owned(),
                Position { line: 2, column: 3 },
            ),
            ("{\"a\": 1}".to_owned(), Position { line: 3, column: 1 }),
        ];
        for size in 1..=text.len() {
            assert_eq!(
                split(text, size),
                (expected.clone(), Found::Nothing),
                "{size}"
            );
        }
    }

    #[test]
    fn whatever_is_not_one_array_of_objects_is_refused() {
        for (text, code) in [
            ("[{}", FaultCode::MalformedJson),
            ("[{} {}]", FaultCode::MalformedJson),
            ("[{},]", FaultCode::MalformedJson),
            ("[{}] x", FaultCode::MalformedJson),
            ("[NaN]", FaultCode::MalformedJson),
            ("NaN", FaultCode::MalformedJson),
            ("{}", FaultCode::WrongType),
            ("[1]", FaultCode::WrongType),
            ("[[]]", FaultCode::WrongType),
        ] {
            let (_, found) = split(text, 100);
            assert!(
                matches!(found, Found::Fault(found, _) if found == code),
                "{text}"
            );
        }
    }
}

//! Keyed tokens: HMAC-SHA-256 over length-prefixed fields.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use unicode_normalization::UnicodeNormalization;

/// HMAC over the fields, each after its length, so that no two lists of fields give the same bytes.
pub(super) fn hmac(key: &[u8], fields: &[&[u8]]) -> [u8; 32] {
    let mut message = Vec::with_capacity(fields.iter().map(|field| field.len() + 8).sum());
    for field in fields {
        message.extend_from_slice(&(field.len() as u64).to_be_bytes());
        message.extend_from_slice(field);
    }
    raw_hmac(key, &message)
}

fn raw_hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("any key length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// First 16 bytes: 128 bits leave no chance of two identifiers sharing a token.
pub(super) fn cut(code: &[u8; 32]) -> [u8; 16] {
    let mut token = [0; 16];
    token.copy_from_slice(&code[..16]);
    token
}

/// NFC, without outer white space, without regard to letter case. Composed again, as folding can decompose (`İ`).
pub(super) fn canonical(value: &str) -> String {
    let composed: String = value.trim().nfc().collect();
    // Twice: `ẞ` and `ß` are `ss`, and both small sigmas are one.
    let lower = composed.chars().flat_map(char::to_lowercase);
    let upper = lower.flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase).nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2: key "Jefe", data "what do ya want for nothing?".
    #[test]
    fn the_hmac_is_that_of_rfc_4231() {
        assert_eq!(
            hex::encode(raw_hmac(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn fields_are_not_joined() {
        assert_ne!(hmac(b"key", &[b"ab", b"c"]), hmac(b"key", &[b"a", b"bc"]));
        assert_ne!(hmac(b"key", &[b"abc"]), hmac(b"key", &[b"abc", b""]));
    }

    #[test]
    fn spellings_of_one_identifier_are_one() {
        // U+00E9 against U+0065 U+0301; letter case; outer white space.
        assert_eq!(canonical("  Jos\u{e9} "), canonical("JOSE\u{301}"));
        assert_eq!(canonical("Ab\u{a0}"), "ab");
        for one in ["straße", "STRASSE", "STRAẞE"] {
            assert_eq!(canonical(one), "strasse");
        }
        assert_eq!(canonical("ΟΔΟΣ"), canonical("οδος"));
        assert_eq!(canonical("İ"), canonical("i\u{307}"));
        assert_ne!(canonical("1234"), canonical("01234"));
        assert_ne!(canonical("a b"), canonical("ab"));
    }
}

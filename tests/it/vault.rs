//! The vault: key file, wrapped keys, sealed chunks, tokens.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use kindred::anonymize::perturbation::Stream;
use kindred::vault::{Error, Grant, Place, Purpose, ReaderPrivateKey, TokenScope, Vault};
use secrecy::SecretString;
use uuid::Uuid;

fn vault(digit: &str) -> Vault {
    let key = SecretString::from(digit.repeat(64));
    Vault::open(Some(&key), Path::new("/nonexistent/key")).unwrap()
}

fn place() -> Place {
    Place {
        dataset_id: Uuid::from_u128(1),
        holder_id: Uuid::from_u128(2),
        purpose: Purpose::Quasi,
        sequence: 3,
    }
}

#[test]
fn a_master_key_is_64_hexadecimal_digits() {
    for text in ["", "abc", &"0".repeat(63), &"0".repeat(66), &"g".repeat(64)] {
        let opened = Vault::open(Some(&SecretString::from(text)), Path::new("unused"));
        assert!(matches!(opened, Err(Error::KeyForm)), "{text:?}");
    }
}

#[test]
fn the_key_file_is_made_once_with_mode_0600_and_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("master.key");
    let first = Vault::open(None, &path).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let wrapped = first
        .new_data_key(Uuid::from_u128(1), Purpose::Token)
        .unwrap();
    let second = Vault::open(None, &path).unwrap();
    let unwrapped = second.unwrap_data_key(Uuid::from_u128(1), Purpose::Token, &wrapped);
    assert!(unwrapped.is_ok());
    // Nothing but the key file is left.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_key_file_that_others_can_read_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("master.key");
    Vault::open(None, &path).unwrap();
    for mode in [0o644, 0o640, 0o604, 0o620] {
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let opened = Vault::open(None, &path);
        assert!(matches!(opened, Err(Error::KeyFile { .. })), "{mode:o}");
    }
}

#[test]
fn a_key_file_that_is_no_key_is_refused_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("master.key");
    std::fs::write(&path, "not a key\n").unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    assert!(matches!(Vault::open(None, &path), Err(Error::KeyForm)));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "not a key\n");
    let dangling = directory.path().join("dangling.key");
    symlink(directory.path().join("nowhere"), &dangling).unwrap();
    assert!(matches!(
        Vault::open(None, &dangling),
        Err(Error::KeyFile { .. })
    ));
}

#[test]
fn of_many_that_make_the_key_file_at_once_all_use_one_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("master.key");
    let dataset_id = Uuid::from_u128(1);
    let vaults: Vec<Vault> = std::thread::scope(|scope| {
        let openers: Vec<_> = (0..16)
            .map(|_| scope.spawn(|| Vault::open(None, &path).unwrap()))
            .collect();
        openers
            .into_iter()
            .map(|opener| opener.join().unwrap())
            .collect()
    });
    let wrapped = vaults[0].new_data_key(dataset_id, Purpose::Quasi).unwrap();
    for vault in &vaults {
        assert!(
            vault
                .unwrap_data_key(dataset_id, Purpose::Quasi, &wrapped)
                .is_ok()
        );
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_wrapped_key_opens_only_for_its_dataset_purpose_and_master_key() {
    let own = vault("1");
    let dataset_id = Uuid::from_u128(1);
    let wrapped = own.new_data_key(dataset_id, Purpose::Quasi).unwrap();
    assert!(
        own.unwrap_data_key(dataset_id, Purpose::Quasi, &wrapped)
            .is_ok()
    );
    let others = [
        own.unwrap_data_key(Uuid::from_u128(2), Purpose::Quasi, &wrapped),
        own.unwrap_data_key(dataset_id, Purpose::Auxiliary, &wrapped),
        own.unwrap_data_key(dataset_id, Purpose::Quasi, &wrapped[..20]),
        own.unwrap_data_key(dataset_id, Purpose::Quasi, &[]),
        vault("2").unwrap_data_key(dataset_id, Purpose::Quasi, &wrapped),
    ];
    for other in others {
        assert!(matches!(other, Err(Error::Open)));
    }
}

#[test]
fn a_chunk_opens_only_unchanged_and_in_its_place() {
    let vault = vault("1");
    let wrapped = vault
        .new_data_key(place().dataset_id, Purpose::Quasi)
        .unwrap();
    let key = vault
        .unwrap_data_key(place().dataset_id, Purpose::Quasi, &wrapped)
        .unwrap();
    let sealed = key.seal(&place(), b"rows").unwrap();
    // Nonce 12, ciphertext 4, tag 16.
    assert_eq!(sealed.len(), 32);
    assert_eq!(key.open(&place(), &sealed).unwrap(), b"rows");
    for position in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[position] ^= 1;
        assert!(matches!(key.open(&place(), &changed), Err(Error::Open)));
    }
    let other = Uuid::from_u128(9);
    let elsewhere = [
        Place {
            dataset_id: other,
            ..place()
        },
        Place {
            holder_id: other,
            ..place()
        },
        Place {
            purpose: Purpose::Auxiliary,
            ..place()
        },
        Place {
            sequence: 4,
            ..place()
        },
    ];
    for place in elsewhere {
        assert!(matches!(key.open(&place, &sealed), Err(Error::Open)));
    }
}

#[test]
fn the_same_rows_are_never_sealed_to_the_same_bytes() {
    let vault = vault("1");
    let wrapped = vault
        .new_data_key(place().dataset_id, Purpose::Quasi)
        .unwrap();
    let key = vault
        .unwrap_data_key(place().dataset_id, Purpose::Quasi, &wrapped)
        .unwrap();
    let first = key.seal(&place(), b"rows").unwrap();
    let second = key.seal(&place(), b"rows").unwrap();
    assert_ne!(first[..12], second[..12]);
    assert_ne!(first[12..], second[12..]);
}

#[test]
fn a_subject_has_one_token_however_it_is_spelt_and_another_in_another_dataset() {
    let vault = vault("1");
    let key = |dataset: u128| {
        let dataset_id = Uuid::from_u128(dataset);
        let wrapped = vault.new_data_key(dataset_id, Purpose::Token).unwrap();
        vault
            .unwrap_data_key(dataset_id, Purpose::Token, &wrapped)
            .unwrap()
    };
    let (own, other) = (key(1), key(2));
    let token = own.subject_token("Jos\u{e9}");
    assert_eq!(token, own.subject_token(" JOSE\u{301} "));
    assert_ne!(token, own.subject_token("Jose"));
    assert_ne!(token, other.subject_token("Jos\u{e9}"));
    // Cells are counted as they are: `m` is not `M` (user-cases D9).
    assert_ne!(own.value_token("m"), own.value_token("M"));
    assert_ne!(own.value_token("m"), own.subject_token("m"));
}

#[test]
fn neither_vault_nor_key_shows_its_bytes() {
    let vault = vault("1");
    let wrapped = vault
        .new_data_key(Uuid::from_u128(1), Purpose::Quasi)
        .unwrap();
    let key = vault
        .unwrap_data_key(Uuid::from_u128(1), Purpose::Quasi, &wrapped)
        .unwrap();
    assert_eq!(format!("{vault:?} {key:?}"), "Vault { .. } DataKey { .. }");
}

/// RFC 7748, section 5.2: the first iteration of X25519 on its base point.
#[test]
fn a_readers_public_key_is_that_of_rfc_7748() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("reader.key");
    std::fs::write(&path, format!("09{}\n", "0".repeat(62))).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let public = ReaderPrivateKey::read(&path).unwrap().public().unwrap();
    assert_eq!(
        public.text(),
        "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"
    );
    let absent = ReaderPrivateKey::read(&directory.path().join("absent.key"));
    assert!(matches!(absent, Err(Error::NoKeyFile(_))));
}

#[test]
fn a_key_wrapped_for_a_reader_opens_for_its_dataset_reader_and_partition_alone() {
    let directory = tempfile::tempdir().unwrap();
    let own = ReaderPrivateKey::open(&directory.path().join("own.key")).unwrap();
    let other = ReaderPrivateKey::open(&directory.path().join("other.key")).unwrap();
    let (vault, dataset_id) = (vault("1"), place().dataset_id);
    let wrapped = vault.new_data_key(dataset_id, Purpose::Quasi).unwrap();
    let key = vault
        .unwrap_data_key(dataset_id, Purpose::Quasi, &wrapped)
        .unwrap();
    let sealed = key.seal(&place(), b"rows").unwrap();
    let grant = Grant {
        dataset_id,
        reader_id: Uuid::from_u128(9),
        purpose: Purpose::Quasi,
    };
    let wrapped = key.wrap_for(&own.public().unwrap(), &grant).unwrap();
    // Encapsulated key 32, data key 32, tag 16; another one each time.
    assert_eq!(wrapped.len(), 80);
    assert_ne!(
        wrapped,
        key.wrap_for(&own.public().unwrap(), &grant).unwrap()
    );
    let opened = own.unwrap_data_key(&grant, &wrapped).unwrap();
    assert_eq!(opened.open(&place(), &sealed).unwrap(), b"rows");
    let mut changed = wrapped.clone();
    changed[40] ^= 1;
    let purpose = Purpose::Auxiliary;
    let (elsewhere, else_one) = (Uuid::from_u128(2), Uuid::from_u128(3));
    let refused = [
        other.unwrap_data_key(&grant, &wrapped),
        own.unwrap_data_key(&grant, &changed),
        own.unwrap_data_key(&grant, &wrapped[..31]),
        own.unwrap_data_key(&Grant { purpose, ..grant }, &wrapped),
        own.unwrap_data_key(
            &Grant {
                dataset_id: elsewhere,
                ..grant
            },
            &wrapped,
        ),
        own.unwrap_data_key(
            &Grant {
                reader_id: else_one,
                ..grant
            },
            &wrapped,
        ),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(Error::Open)));
    }
}

#[test]
fn tokens_of_identifiers_depend_on_dataset_recipient_column_and_release() {
    let (vault, dataset_id) = (vault("1"), Uuid::from_u128(1));
    let wrapped = vault.new_data_key(dataset_id, Purpose::Token).unwrap();
    let key = vault
        .unwrap_data_key(dataset_id, Purpose::Token, &wrapped)
        .unwrap();
    let scope = TokenScope {
        dataset_id,
        recipient: Some("a"),
        release_id: Some(Uuid::from_u128(7)),
    };
    let token = |scope: &TokenScope<'_>, column: &str, value: &str| {
        key.identifier_key(scope).token(column, value)
    };
    let first = token(&scope, "mrn", "Jos\u{e9} ");
    assert_eq!(first, token(&scope, "mrn", "JOSE\u{301}"));
    assert_eq!(first.len(), 32);
    let linked = TokenScope {
        release_id: None,
        ..scope
    };
    let others = [
        token(&scope, "mrn", "jos"),
        token(&scope, "name", "Jos\u{e9}"),
        token(
            &TokenScope {
                recipient: Some("b"),
                ..scope
            },
            "mrn",
            "jos\u{e9}",
        ),
        token(
            &TokenScope {
                recipient: None,
                ..scope
            },
            "mrn",
            "jos\u{e9}",
        ),
        token(
            &TokenScope {
                dataset_id: Uuid::from_u128(2),
                ..scope
            },
            "mrn",
            "jos\u{e9}",
        ),
        token(
            &TokenScope {
                release_id: Some(Uuid::from_u128(8)),
                ..scope
            },
            "mrn",
            "jos\u{e9}",
        ),
        token(&linked, "mrn", "jos\u{e9}"),
        hex::encode(key.subject_token("jos\u{e9}")),
        first,
    ];
    let distinct: std::collections::BTreeSet<&String> = others.iter().collect();
    assert_eq!(distinct.len(), others.len());
}

/// Noise that could be drawn again could be taken off: its keys differ by dataset, job and stream, and say nothing.
#[test]
fn noise_has_a_key_of_its_own_per_job_and_stream() {
    let own = vault("1");
    let (dataset_id, job_id) = (Uuid::from_u128(1), Uuid::from_u128(2));
    let wrapped = own.new_data_key(dataset_id, Purpose::Token).unwrap();
    let unwrapped = || {
        own.unwrap_data_key(dataset_id, Purpose::Token, &wrapped)
            .unwrap()
    };
    let streams = |dataset_id, job_id| {
        let key = unwrapped().noise_key(dataset_id, job_id);
        assert_eq!(format!("{key:?}"), "NoiseKey { .. }");
        [
            Stream::Cells("age"),
            Stream::Cells("rows"),
            Stream::Cells(""),
            Stream::Rows,
        ]
        .map(|stream| key.stream(stream))
    };
    let first = streams(dataset_id, job_id);
    assert_eq!(first, streams(dataset_id, job_id));
    let others = [
        streams(dataset_id, Uuid::from_u128(3)),
        streams(Uuid::from_u128(3), job_id),
    ];
    let mut all: Vec<[u8; 32]> = others.into_iter().chain([first]).flatten().collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 12);
}

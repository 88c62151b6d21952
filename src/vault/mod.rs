//! Keys, sealed partitions, keyed tokens.
//!
//! Envelope encryption: one master key, held by the process, wraps six random data keys per dataset, one per
//! [`Purpose`]; the database holds them only wrapped. Rows are sealed with AES-256-GCM under a fresh 96-bit nonce that
//! stands before the ciphertext. The associated data binds every ciphertext to its place, so a chunk moved to another
//! dataset, batch, partition or position does not open. Destroying a wrapped key destroys what it sealed.

mod identifier;
mod key_file;
mod noise;
mod place;
mod reader;
mod token;

use std::fmt;
use std::path::Path;

use aes_gcm::aead::{Aead, Payload};
use aes_gcm::{Aes256Gcm, KeyInit};
use rand::TryRng;
use rand::rngs::SysRng;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;
use zeroize::Zeroizing;

pub use identifier::{IdentifierKey, TokenScope};
pub use noise::NoiseKey;
pub use place::{FrontPlace, Place, Purpose, SeriesPart, SeriesPlace};
pub use reader::{Grant, ReaderPrivateKey, ReaderPublicKey};

/// Bytes of every key.
const KEY_BYTES: usize = 32;
/// Bytes of a nonce.
const NONCE_BYTES: usize = 12;

/// Holds the master key.
pub struct Vault {
    master: SealingKey,
}

/// What goes wrong with keys and sealed data. Never says more than which.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The master key is not 32 bytes in hexadecimal.
    #[error("the master key must be 64 hexadecimal digits")]
    KeyForm,
    /// The key file cannot be read or made.
    #[error("the key file {path} cannot be used: {reason}")]
    KeyFile {
        /// Which file.
        path: String,
        /// Why.
        reason: String,
    },
    /// Authentication failed: another key, or changed data.
    #[error("sealed data does not open with this key")]
    Open,
    /// Not an X25519 public key that a key can be wrapped for.
    #[error("not an X25519 key")]
    ReaderKey,
    /// There is no such key file.
    #[error("there is no key file {0}")]
    NoKeyFile(String),
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness")]
    Randomness,
}

/// A data key, unwrapped. Erased from memory when dropped; `Debug` shows nothing of it.
pub struct DataKey {
    key: SealingKey,
}

/// Thirty-two secret bytes.
struct SealingKey(Zeroizing<[u8; KEY_BYTES]>);

impl Vault {
    /// Opens the vault with the given master key, or with the key file, which is made (mode 0600) if it is not there.
    ///
    /// # Errors
    /// The key's form, or the file.
    pub fn open(master_key: Option<&SecretString>, key_file: &Path) -> Result<Self, Error> {
        let master = match master_key {
            Some(text) => parse_key(text.expose_secret())?,
            None => key_file::read_or_create(key_file)?,
        };
        Ok(Self { master })
    }

    /// Makes a random data key and gives it wrapped: what the database stores.
    ///
    /// # Errors
    /// [`Error::Randomness`].
    pub fn new_data_key(&self, dataset_id: Uuid, purpose: Purpose) -> Result<Vec<u8>, Error> {
        let key = SealingKey::random()?;
        self.master
            .seal(&place::of_key(dataset_id, purpose), &key.0[..])
    }

    /// Opens the vault with the key of a file beside the given one, named with `.next` after it; the file is made if it
    /// is not there.
    ///
    /// # Errors
    /// The file.
    pub fn open_next(key_file: &Path) -> Result<Self, Error> {
        let master = key_file::read_or_create(&key_file::next_path(key_file))?;
        Ok(Self { master })
    }

    /// Puts the key file of [`Vault::open_next`] in the place of the given one, whole or not at all.
    ///
    /// # Errors
    /// The file.
    pub fn put_next_in_force(key_file: &Path) -> Result<(), Error> {
        key_file::replace(&key_file::next_path(key_file), key_file)
    }

    /// Wraps a data key by another vault's master key.
    ///
    /// # Errors
    /// As [`Vault::unwrap_data_key`]; [`Error::Randomness`].
    pub fn rewrap_data_key(
        &self,
        next: &Self,
        dataset_id: Uuid,
        purpose: Purpose,
        wrapped: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let key = self.unwrap_data_key(dataset_id, purpose, wrapped)?;
        let place = place::of_key(dataset_id, purpose);
        next.master.seal(&place, &key.key.0[..])
    }

    /// Unwraps a data key of this dataset and purpose.
    ///
    /// # Errors
    /// [`Error::Open`] with another master key, or if the key belongs to another dataset or purpose.
    pub fn unwrap_data_key(
        &self,
        dataset_id: Uuid,
        purpose: Purpose,
        wrapped: &[u8],
    ) -> Result<DataKey, Error> {
        let bytes = self
            .master
            .open(&place::of_key(dataset_id, purpose), wrapped)
            .map(Zeroizing::new)?;
        let mut key = SealingKey(Zeroizing::new([0; KEY_BYTES]));
        if bytes.len() != KEY_BYTES {
            return Err(Error::Open);
        }
        key.0.copy_from_slice(&bytes);
        Ok(DataKey { key })
    }
}

impl DataKey {
    /// Seals a chunk for its place: nonce, ciphertext, tag (28 bytes longer than the plain bytes).
    ///
    /// # Errors
    /// [`Error::Randomness`].
    pub fn seal(&self, place: &Place, plain: &[u8]) -> Result<Vec<u8>, Error> {
        self.key.seal(&place.associated_data(), plain)
    }

    /// Opens a chunk sealed for this place.
    ///
    /// # Errors
    /// [`Error::Open`] with another key, at another place, or if a bit was changed.
    pub fn open(&self, place: &Place, sealed: &[u8]) -> Result<Vec<u8>, Error> {
        self.key.open(&place.associated_data(), sealed)
    }

    /// As [`DataKey::seal`], for a place of a series.
    ///
    /// # Errors
    /// [`Error::Randomness`].
    pub fn seal_in_series(&self, place: &SeriesPlace, plain: &[u8]) -> Result<Vec<u8>, Error> {
        self.key.seal(&place.associated_data(), plain)
    }

    /// As [`DataKey::open`], for a place of a series.
    ///
    /// # Errors
    /// [`Error::Open`] with another key, at another place, or if a bit was changed.
    pub fn open_in_series(&self, place: &SeriesPlace, sealed: &[u8]) -> Result<Vec<u8>, Error> {
        self.key.open(&place.associated_data(), sealed)
    }

    /// As [`DataKey::seal`], for the classes of a solution's rows.
    ///
    /// # Errors
    /// [`Error::Randomness`].
    pub fn seal_in_front(&self, place: &FrontPlace, plain: &[u8]) -> Result<Vec<u8>, Error> {
        self.key.seal(&place.associated_data(), plain)
    }

    /// As [`DataKey::open`], for the classes of a solution's rows.
    ///
    /// # Errors
    /// [`Error::Open`] with another key, at another place, or if a bit was changed.
    pub fn open_in_front(&self, place: &FrontPlace, sealed: &[u8]) -> Result<Vec<u8>, Error> {
        self.key.open(&place.associated_data(), sealed)
    }

    /// Keyed token of a list of cells exactly as they are; missing is told from every text.
    #[must_use]
    pub fn tuple_token<'a>(&self, cells: impl IntoIterator<Item = Option<&'a str>>) -> [u8; 16] {
        let mut fields: Vec<&[u8]> = vec![b"tuple"];
        for cell in cells {
            fields.push(if cell.is_some() { b"1" } else { b"0" });
            fields.push(cell.unwrap_or_default().as_bytes());
        }
        token::cut(&token::hmac(&self.key.0[..], &fields))
    }

    /// Keyed token of the nodes that a class of a series is known by.
    #[must_use]
    pub fn class_token<'a>(
        &self,
        series_id: Uuid,
        nodes: impl IntoIterator<Item = &'a str>,
    ) -> [u8; 16] {
        let series = series_id.into_bytes();
        let mut fields: Vec<&[u8]> = vec![b"class"];
        fields.push(&series);
        let nodes: Vec<&str> = nodes.into_iter().collect();
        fields.extend(nodes.iter().map(|node| node.as_bytes()));
        token::cut(&token::hmac(&self.key.0[..], &fields))
    }

    /// Keyed token of a node of a quasi-identifier's hierarchy within a series.
    #[must_use]
    pub fn node_token(&self, series_id: Uuid, attribute: usize, node: &str) -> [u8; 16] {
        let attribute = (attribute as u64).to_be_bytes();
        let fields: [&[u8]; 4] = [b"node", series_id.as_bytes(), &attribute, node.as_bytes()];
        token::cut(&token::hmac(&self.key.0[..], &fields))
    }

    /// Keyed token that a series knows a subject by.
    #[must_use]
    pub fn member_token(&self, series_id: Uuid, subject: &[u8; 16]) -> [u8; 16] {
        let fields: [&[u8]; 3] = [b"member", series_id.as_bytes(), subject];
        token::cut(&token::hmac(&self.key.0[..], &fields))
    }

    /// Keyed token of a person's identifier: the same for every spelling of it that differs only in Unicode form,
    /// letter case or outer white space.
    ///
    /// HMAC-SHA-256 cut to 16 bytes: without the key nobody can try out identifiers.
    #[must_use]
    pub fn subject_token(&self, value: &str) -> [u8; 16] {
        token::cut(&token::hmac(
            &self.key.0[..],
            &[b"subject", token::canonical(value).as_bytes()],
        ))
    }

    /// Keyed token of a cell exactly as it is: for counting distinct values.
    #[must_use]
    pub fn value_token(&self, value: &str) -> [u8; 16] {
        token::cut(&token::hmac(&self.key.0[..], &[b"value", value.as_bytes()]))
    }

    /// Keyed digest of an upload's content: shows a repetition, tells nothing to whoever lacks the key.
    #[must_use]
    pub fn content_token(&self, digest: &[u8; 32]) -> [u8; 32] {
        token::hmac(&self.key.0[..], &[b"content", digest])
    }
}

impl SealingKey {
    fn random() -> Result<Self, Error> {
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        fill_random(&mut key[..])?;
        Ok(Self(key))
    }

    fn cipher(&self) -> Aes256Gcm {
        Aes256Gcm::new((&*self.0).into())
    }

    fn seal(&self, associated_data: &[u8], plain: &[u8]) -> Result<Vec<u8>, Error> {
        let mut nonce = [0; NONCE_BYTES];
        fill_random(&mut nonce)?;
        let payload = Payload {
            msg: plain,
            aad: associated_data,
        };
        // The only failure of encryption is a plaintext beyond 64 GiB.
        let ciphertext = self
            .cipher()
            .encrypt(&nonce.into(), payload)
            .map_err(|_| Error::Open)?;
        let mut sealed = Vec::with_capacity(NONCE_BYTES + ciphertext.len());
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&ciphertext);
        Ok(sealed)
    }

    fn open(&self, associated_data: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Error> {
        let (nonce, ciphertext) = sealed
            .split_first_chunk::<NONCE_BYTES>()
            .ok_or(Error::Open)?;
        let payload = Payload {
            msg: ciphertext,
            aad: associated_data,
        };
        self.cipher()
            .decrypt(nonce.into(), payload)
            .map_err(|_| Error::Open)
    }
}

fn fill_random(bytes: &mut [u8]) -> Result<(), Error> {
    SysRng.try_fill_bytes(bytes).map_err(|_| Error::Randomness)
}

/// Reads a key of 64 hexadecimal digits; white space around it is allowed, as files end with a line break.
fn parse_key(text: &str) -> Result<SealingKey, Error> {
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    hex::decode_to_slice(text.trim(), &mut key[..]).map_err(|_| Error::KeyForm)?;
    Ok(SealingKey(key))
}

impl fmt::Debug for Vault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Vault").finish_non_exhaustive()
    }
}
impl fmt::Debug for DataKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DataKey").finish_non_exhaustive()
    }
}

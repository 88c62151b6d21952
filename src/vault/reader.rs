//! Data keys wrapped for readers: HPKE (RFC 9180) in base mode with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM.
//!
//! Any implementation of the standard opens them; `info` binds each to dataset, reader and partition.

use std::fmt;
use std::path::Path;

use hpke::aead::AesGcm256;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{Deserializable, Kem, OpModeR, OpModeS, Serializable};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use uuid::Uuid;
use zeroize::Zeroizing;

use super::{DataKey, Error, KEY_BYTES, Purpose, SealingKey, fill_random, key_file, place};

type Public = <X25519HkdfSha256 as Kem>::PublicKey;
type Private = <X25519HkdfSha256 as Kem>::PrivateKey;
type Encapped = <X25519HkdfSha256 as Kem>::EncappedKey;

/// Bytes of what a reader needs beside its own key to find the wrapping key.
const ENCAPPED_BYTES: usize = 32;

/// Whose wrapped key it is, and of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Dataset.
    pub dataset_id: Uuid,
    /// Reader.
    pub reader_id: Uuid,
    /// Partition.
    pub purpose: Purpose,
}

/// A reader's X25519 public key.
#[derive(Clone, PartialEq, Eq)]
pub struct ReaderPublicKey(Public);

/// A reader's X25519 private key. Erased from memory when dropped; `Debug` shows nothing of it.
pub struct ReaderPrivateKey(SealingKey);

impl Grant {
    fn info(&self) -> Vec<u8> {
        let mut bytes = b"kindred reader key 1".to_vec();
        bytes.extend_from_slice(self.reader_id.as_bytes());
        bytes.extend_from_slice(&place::of_key(self.dataset_id, self.purpose));
        bytes
    }
}

impl ReaderPublicKey {
    /// Reads 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`Error::ReaderKey`] in another form, or with a point of low order, which would make the wrapping key public.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut bytes = [0; KEY_BYTES];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| Error::ReaderKey)?;
        let key = Public::from_bytes(&bytes).map_err(|_| Error::ReaderKey)?;
        // The exchange itself refuses such points; nothing of this trial is kept.
        let mut random = ChaCha20Rng::from_seed([0; 32]);
        let trial = hpke::setup_sender_with_rng::<AesGcm256, HkdfSha256, X25519HkdfSha256>(
            &OpModeS::Base,
            &key,
            b"",
            &mut random,
        );
        trial.map_err(|_| Error::ReaderKey)?;
        Ok(Self(key))
    }

    /// 64 hexadecimal digits.
    #[must_use]
    pub fn text(&self) -> String {
        hex::encode(self.0.to_bytes())
    }
}

impl DataKey {
    /// Wraps this key for a reader: encapsulated key (32 bytes), ciphertext, tag.
    ///
    /// # Errors
    /// [`Error::Randomness`]; [`Error::ReaderKey`].
    pub fn wrap_for(&self, reader: &ReaderPublicKey, grant: &Grant) -> Result<Vec<u8>, Error> {
        let mut seed = Zeroizing::new([0; 32]);
        fill_random(&mut seed[..])?;
        let mut random = ChaCha20Rng::from_seed(*seed);
        let sealed = hpke::single_shot_seal_with_rng::<AesGcm256, HkdfSha256, X25519HkdfSha256>(
            &OpModeS::Base,
            &reader.0,
            &grant.info(),
            &self.key.0[..],
            b"",
            &mut random,
        );
        let (encapped, ciphertext) = sealed.map_err(|_| Error::ReaderKey)?;
        let mut wrapped = encapped.to_bytes().to_vec();
        wrapped.extend_from_slice(&ciphertext);
        Ok(wrapped)
    }
}

impl ReaderPrivateKey {
    /// Reads the key of a file, which is made (mode 0600) if it is not there.
    ///
    /// # Errors
    /// The file.
    pub fn open(path: &Path) -> Result<Self, Error> {
        key_file::read_or_create(path).map(Self)
    }

    /// Reads the key of a file.
    ///
    /// # Errors
    /// The file; [`Error::NoKeyFile`] if there is none.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let key = key_file::read(path)?;
        key.map(Self)
            .ok_or_else(|| Error::NoKeyFile(path.display().to_string()))
    }

    /// Its public key.
    ///
    /// # Errors
    /// [`Error::ReaderKey`] if it is none.
    pub fn public(&self) -> Result<ReaderPublicKey, Error> {
        Ok(ReaderPublicKey(X25519HkdfSha256::sk_to_pk(&self.key()?)))
    }

    /// Unwraps a data key.
    ///
    /// # Errors
    /// [`Error::Open`] if it was wrapped for another reader, dataset or partition, or changed.
    pub fn unwrap_data_key(&self, grant: &Grant, wrapped: &[u8]) -> Result<DataKey, Error> {
        let (encapped, ciphertext) = wrapped
            .split_first_chunk::<ENCAPPED_BYTES>()
            .ok_or(Error::Open)?;
        let encapped = Encapped::from_bytes(encapped).map_err(|_| Error::Open)?;
        let opened = hpke::single_shot_open::<AesGcm256, HkdfSha256, X25519HkdfSha256>(
            &OpModeR::Base,
            &self.key()?,
            &encapped,
            &grant.info(),
            ciphertext,
            b"",
        );
        let opened = Zeroizing::new(opened.map_err(|_| Error::Open)?);
        let mut key = SealingKey(Zeroizing::new([0; KEY_BYTES]));
        if opened.len() != KEY_BYTES {
            return Err(Error::Open);
        }
        key.0.copy_from_slice(&opened);
        Ok(DataKey { key })
    }

    fn key(&self) -> Result<Private, Error> {
        Private::from_bytes(&self.0.0[..]).map_err(|_| Error::ReaderKey)
    }
}

impl fmt::Debug for ReaderPublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("ReaderPublicKey")
            .field(&self.text())
            .finish()
    }
}
impl fmt::Debug for ReaderPrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ReaderPrivateKey")
            .finish_non_exhaustive()
    }
}

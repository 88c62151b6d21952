//! What became of the records of people who were looked for.

/// What became of one record.
pub(super) struct Outcome {
    /// People in its match set.
    pub(super) size: u64,
    /// Whether its own class is in its match set.
    pub(super) own: Option<bool>,
    /// Whether the most frequent values of the match set and of the release are right.
    pub(super) guess: Option<[bool; 2]>,
}

/// What became of the records of one person.
pub(super) struct Person {
    /// The least match set that is not empty; 0 if all are.
    pub(super) size: u64,
    /// Share of records whose own class is in their match set, and mean chance of picking them.
    pub(super) own: Option<[f64; 2]>,
    /// Share of records that are guessed right, by the match set and by the release.
    pub(super) guess: Option<[f64; 2]>,
}

impl Person {
    pub(super) fn of<'a>(records: impl Iterator<Item = &'a Outcome> + Clone) -> Self {
        let sizes = records.clone().map(|record| record.size);
        let own = records.clone().filter_map(|record| {
            let is_found = record.own?;
            let chance = 1.0 / record.size.max(1) as f64;
            Some(if is_found { [1.0, chance] } else { [0.0; 2] })
        });
        let guesses = records.filter_map(|record| record.guess);
        let guesses = guesses.map(|guess| guess.map(|right| f64::from(u8::from(right))));
        Self {
            size: sizes.filter(|&size| size > 0).min().unwrap_or(0),
            own: mean(&own.collect::<Vec<_>>()),
            guess: mean(&guesses.collect::<Vec<_>>()),
        }
    }
}

/// Means of pairs; `None` without any.
pub(super) fn mean(pairs: &[[f64; 2]]) -> Option<[f64; 2]> {
    let of = |place: usize| {
        let sum: f64 = pairs.iter().map(|pair| pair[place]).sum();
        sum / pairs.len() as f64
    };
    (!pairs.is_empty()).then(|| [of(0), of(1)])
}

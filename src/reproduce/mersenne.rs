//! The random numbers of `CPython`: MT19937, seeded from an integer, and whole numbers drawn by rejection.
//!
//! Source: M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM TOMACS 8 (1998), with their `init_by_array` of 2002;
//! `CPython`'s `random.Random(seed)`, `randint` and `choice`. Only for the pilot's published data.

const LENGTH: usize = 624;
const MIDDLE: usize = 397;

/// `random.Random(seed)` for a seed below 2^32.
#[derive(Debug, Clone)]
pub(super) struct MersenneTwister {
    state: [u32; LENGTH],
    next: usize,
}

impl MersenneTwister {
    /// Seeds as `CPython` does: `init_by_array([seed])`.
    pub(super) fn new(seed: u32) -> Self {
        let mut state = [0u32; LENGTH];
        state[0] = 19_650_218;
        for index in 1..LENGTH {
            let before = state[index - 1];
            state[index] = mixed(before)
                .wrapping_mul(1_812_433_253)
                .wrapping_add(word(index));
        }
        let mut index = 1;
        for _ in 0..LENGTH {
            let before = mixed(state[index - 1]).wrapping_mul(1_664_525);
            state[index] = (state[index] ^ before).wrapping_add(seed);
            index = step(&mut state, index);
        }
        for _ in 0..LENGTH - 1 {
            let before = mixed(state[index - 1]).wrapping_mul(1_566_083_941);
            state[index] = (state[index] ^ before).wrapping_sub(word(index));
            index = step(&mut state, index);
        }
        state[0] = 0x8000_0000;
        Self {
            state,
            next: LENGTH,
        }
    }

    /// The next 32 bits.
    pub(super) fn next_word(&mut self) -> u32 {
        if self.next == LENGTH {
            self.twist();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// `_randbelow(bound)`: as many top bits as `bound` has, drawn again until they are below it.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        let bits = u32::BITS - bound.leading_zeros();
        loop {
            let drawn = self.next_word() >> (u32::BITS - bits);
            if drawn < bound {
                return drawn;
            }
        }
    }

    fn twist(&mut self) {
        for index in 0..LENGTH {
            let upper = self.state[index] & 0x8000_0000;
            let lower = self.state[(index + 1) % LENGTH] & 0x7fff_ffff;
            let joined = upper | lower;
            let odd = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[index] = self.state[(index + MIDDLE) % LENGTH] ^ (joined >> 1) ^ odd;
        }
        self.next = 0;
    }
}

fn mixed(word: u32) -> u32 {
    word ^ (word >> 30)
}

fn word(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(0)
}

/// The next index of the seeding, which goes around and carries the last word over.
fn step(state: &mut [u32; LENGTH], index: usize) -> usize {
    if index + 1 < LENGTH {
        return index + 1;
    }
    state[0] = state[LENGTH - 1];
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_are_those_of_cpython() {
        for (seed, words) in [
            (
                2026,
                &[0x1e7e_a419, 0x51c9_bc70, 0x80a4_df5a, 0xf38b_2ffc][..],
            ),
            (2033, &[0x691a_351d, 0x21f0_5718]),
            (7, &[0x52e6_b438, 0xf2a7_4de4]),
        ] {
            let mut random = MersenneTwister::new(seed);
            let found: Vec<u32> = words.iter().map(|_| random.next_word()).collect();
            assert_eq!(found, words, "{seed}");
        }
    }
}

//! Bounds of `e^-x` in whole numbers: what is rounded is rounded knowingly, in the direction asked for.

/// One, in units of 2^-64.
pub(super) const ONE: u128 = 1 << 64;
/// Parts of one that a parameter is given in.
pub(super) const MILLION: u64 = 1_000_000;
/// Terms of the series, even: 25! is beyond 2^83, so what follows is below a unit.
const TERMS: u128 = 24;

/// A number in `0..=1` that is only known to lie between two others, in units of 2^-64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) low: u128,
    pub(super) high: u128,
}

impl Bounds {
    /// The product; one of the two must be below one.
    fn times(self, other: Self) -> Self {
        Self {
            low: (self.low * other.low) >> 64,
            high: ((self.high * other.high) >> 64) + 1,
        }
    }
}

/// `e^-x` for `x` in millionths: the bounds lie some units apart.
pub(super) fn exp_of_minus(millionths: u64) -> Bounds {
    let part = series(millionths % MILLION);
    let whole = series(MILLION);
    (0..millionths / MILLION).fold(part, |product, _| product.times(whole))
}

/// The alternating series of `e^-x`, `x` in millionths, at most 1: its terms fall, so sums that end with a positive and
/// with a negative term lie on either side.
fn series(millionths: u64) -> Bounds {
    let mut term = Bounds {
        low: ONE,
        high: ONE,
    };
    let mut positive = term;
    let mut negative = Bounds { low: 0, high: 0 };
    let mut low = 0;
    for number in 1..=TERMS {
        let divisor = number * u128::from(MILLION);
        term = Bounds {
            low: term.low * u128::from(millionths) / divisor,
            high: (term.high * u128::from(millionths)).div_ceil(divisor),
        };
        let sum = if number % 2 == 0 {
            &mut positive
        } else {
            &mut negative
        };
        sum.low += term.low;
        sum.high += term.high;
        if number == TERMS - 1 {
            low = positive.low.saturating_sub(negative.high);
        }
    }
    Bounds {
        low,
        high: (positive.high - negative.low).min(ONE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_hold_the_exponential_between_them() {
        for millionths in [
            0, 1, 1_000, 500_000, 999_999, 1_000_000, 2_500_000, 20_000_000,
        ] {
            let found = exp_of_minus(millionths);
            let wanted = (-(millionths as f64) / 1e6).exp();
            let unit = 2.0_f64.powi(-64);
            assert!(found.low <= found.high, "{millionths}");
            assert!(found.high - found.low < 100, "{millionths}");
            let near = found.low as f64 * unit;
            assert!((near - wanted).abs() < 1e-15, "{millionths}");
        }
        // 1/e = 0.36787944117144232159552377016146086744581113103177 (OEIS A068985).
        let exact = 6_786_177_901_268_885_274_u128;
        let found = exp_of_minus(MILLION);
        assert!(found.low <= exact && exact < found.high, "{found:?}");
    }
}

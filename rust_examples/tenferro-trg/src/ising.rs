//! Onsager's solution of the 2D Ising model on the square lattice without a field, and the truncation that TRG uses.

use std::f64::consts::{FRAC_PI_2, LN_2, PI};

/// The inverse temperatures at which everything is reported, as records name them.
pub const BETAS: [&str; 5] = ["0.30", "0.40", "0.50", "0.60", "0.70"];

/// Steps of the renormalization group: each halves the number of tensors.
pub const STEPS: usize = 20;

/// The most singular values a step keeps once there are enough.
pub const CHI: usize = 16;

/// The most singular values that each step keeps: 2, 4, 4, 16, 16, …
pub const TRUNCATIONS: [usize; STEPS] = {
    let mut most = [CHI; STEPS];
    [most[0], most[1], most[2]] = [2, 4, 4];
    most
};

/// Points of the trapezoidal rule. It converges geometrically, for the integrand is periodic and analytic: by a factor of
/// `exp(-0.23)` a point at β = 0.40 and 0.50, the values of [`BETAS`] that lie nearest to the critical one.
const POINTS: u32 = 512;

/// Extent of the four legs before and after each step: 2 → 2 → 4 → 4 → 16 → 16 → … A matrix of d² rows has d² singular values.
#[must_use]
pub fn shapes(truncations: &[usize]) -> Vec<[usize; 2]> {
    let step = |extent: &mut usize, &most: &usize| {
        let before = *extent;
        *extent = most.min(before * before);
        Some([before, *extent])
    };
    truncations.iter().scan(2, step).collect()
}

/// Exact ln Z per site of the infinite lattice.
#[must_use]
pub fn exact_lnz(beta: f64) -> f64 {
    let (sinh, cosh) = ((2.0 * beta).sinh(), (2.0 * beta).cosh());
    let modulus = 2.0 * sinh / (cosh * cosh);
    let integrand = |point: u32| {
        let part = modulus * (FRAC_PI_2 * (f64::from(point) + 0.5) / f64::from(POINTS)).sin();
        f64::midpoint(1.0, (1.0 - part * part).sqrt()).ln()
    };
    let mean = (0..POINTS).map(integrand).sum::<f64>() / f64::from(POINTS);
    LN_2 + cosh.ln() + mean / 2.0
}

/// Exact internal energy per site, −d(ln Z/N)/dβ.
#[must_use]
pub fn exact_energy(beta: f64) -> f64 {
    let tanh = (2.0 * beta).tanh();
    let complement = 2.0 * tanh * tanh - 1.0;
    let integral = PI / 2.0 / arithmetic_geometric_mean(1.0, complement.abs());
    -(1.0 + 2.0 / PI * complement * integral) / tanh
}

fn arithmetic_geometric_mean(mut a: f64, mut b: f64) -> f64 {
    while (a - b).abs() > 4.0 * f64::EPSILON * a {
        (a, b) = (f64::midpoint(a, b), (a * b).sqrt());
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_steps_have_five_shapes_and_the_rest_repeat_the_last() {
        let expected = [[2, 2], [2, 4], [4, 4], [4, 16], [16, 16]];
        let all = shapes(&TRUNCATIONS);
        assert_eq!(all[..5], expected);
        assert!(all[5..].iter().all(|&shape| shape == expected[4]), "{all:?}");
        assert_eq!(all.len(), 20);
    }

    #[test]
    fn exact_values_are_the_published_ones() {
        for (beta, published) in [(0.3, 0.790_559_070_951_263), (0.4, 0.879_363_820_774_948), (0.5, 1.025_792_812_694_918)] {
            assert!((exact_lnz(beta) - published).abs() < 2e-15, "{beta}: {}", exact_lnz(beta));
        }
    }

    #[test]
    fn a_high_temperature_series_gives_the_same() {
        // ln Z/N = ln 2 + 2 ln cosh β + t⁴ + 2t⁶ + 9/2 t⁸ + 12 t¹⁰ + …, t = tanh β
        let beta: f64 = 0.1;
        let square = beta.tanh().powi(2);
        let series = square.powi(2) + 2.0 * square.powi(3) + 4.5 * square.powi(4) + 12.0 * square.powi(5);
        assert!((exact_lnz(beta) - (LN_2 + 2.0 * beta.cosh().ln() + series)).abs() < 1e-10);
    }

    #[test]
    fn the_energy_is_the_derivative() {
        for beta in [0.1, 0.3, 0.4, 0.5, 0.7] {
            let h = 1e-4;
            let slope = |h: f64| (exact_lnz(beta + h) - exact_lnz(beta - h)) / (2.0 * h);
            let extrapolated = (4.0 * slope(h) - slope(2.0 * h)) / 3.0;
            assert!((exact_energy(beta) + extrapolated).abs() < 1e-10, "{beta}");
        }
    }
}

//! The contraction of a step at full size, apart from everything else.

use measure::largest;
use tenferro_runtime::{Tensor, TracedTensor};

use crate::ising::CHI;
use crate::machine::{Machine, Program, Result};
use crate::stage::{Order, contract, input};

/// An entry is a sum of 65536 products below 1/16.
const TOLERANCE: f64 = 1e-9;

/// Four tensors with all legs of 16, and the program that contracts them.
pub struct Contraction {
    machine: Machine,
    program: Program,
    /// S1, S2, S3, S4, column-major.
    tensors: [Tensor; 4],
}

impl Contraction {
    /// Build and prepare.
    ///
    /// # Errors
    ///
    /// tenferro refuses the graph.
    pub fn prepare(mut machine: Machine, order: Order) -> Result<Self> {
        let leg = || input(&[CHI; 3]);
        let inputs: [TracedTensor; 4] = [leg()?, leg()?, leg()?, leg()?];
        let program = machine.prepare(&inputs.each_ref(), &[&contract(&inputs, order)?])?;
        let tensors = [tensor(1)?, tensor(2)?, tensor(3)?, tensor(4)?];
        Ok(Self { machine, program, tensors })
    }

    /// Contract once; the result is on the host.
    ///
    /// # Errors
    ///
    /// A kernel fails.
    pub fn run(&mut self) -> Result<Vec<Tensor>> {
        self.machine.run(&self.program, &self.tensors.each_ref())
    }

    /// Largest difference from plain loops, over a few entries.
    ///
    /// # Errors
    ///
    /// A kernel fails, or the difference is too large to be one of rounding.
    pub fn check(&mut self) -> Result<f64> {
        let result = self.run()?;
        let result = result[0].as_slice::<f64>()?;
        let [s1, s2, s3, s4] = self.tensors.each_ref().map(|tensor| tensor.as_slice::<f64>());
        let (s1, s2, s3, s4) = (s1?, s2?, s3?, s4?);
        let at = |i: usize, j: usize, k: usize| i + CHI * (j + CHI * k);
        let entry = |a: usize, b: usize, c: usize, d: usize| {
            let mut sum = 0.0;
            for w in 0..CHI {
                for y in 0..CHI {
                    let upper: f64 = (0..CHI).map(|x| s3[at(w, x, a)] * s4[at(y, x, b)]).sum();
                    let lower: f64 = (0..CHI).map(|z| s1[at(y, z, c)] * s2[at(w, z, d)]).sum();
                    sum += upper * lower;
                }
            }
            result[a + CHI * (b + CHI * (c + CHI * d))] - sum
        };
        let few = (0..CHI).map(|i| entry(i, (3 * i + 1) % CHI, (5 * i + 2) % CHI, (7 * i + 3) % CHI));
        let error = largest(few);
        if error < TOLERANCE { Ok(error) } else { Err(format!("收缩的结果和逐项求和相差 {error:.3e}").into()) }
    }
}

/// Numbers of either sign that differ from tensor to tensor.
fn tensor(seed: usize) -> Result<Tensor> {
    let count = CHI.pow(3);
    let value = |i: usize| ((i * (2 * seed + 7919)) % count) as f64 / count as f64 - 0.5;
    Ok(Tensor::from_vec_col_major(vec![CHI; 3], (0..count).map(value).collect())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_give_the_plain_sum() {
        for order in [Order::Chain, Order::Pairwise] {
            let error = Contraction::prepare(Machine::new(1).unwrap(), order).unwrap().check().unwrap();
            assert!(error < 1e-11, "{order:?}: {error}");
        }
    }
}

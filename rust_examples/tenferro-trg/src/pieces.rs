//! One evaluation with the SVDs and the contraction of each step as programs of their own, so that each can be timed inside it.

use std::time::{Duration, Instant};

use tenferro_linalg::TracedTensorLinalgExt;
use tenferro_runtime::Tensor;

use crate::ising::{TRUNCATIONS, shapes};
use crate::machine::{Machine, Program, Result};
use crate::stage::{Order, contract, factors, input, ln_trace, matrices, vertex};
use crate::trg::{array, number, scalar, weights};

/// Where the time of a step went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Two SVDs.
    pub svd: Duration,
    /// Four tensors become one.
    pub contraction: Duration,
    /// Norm, transposes, truncation and square roots.
    pub rest: Duration,
}

struct Step {
    matrices: Program,
    svd: Program,
    factors: Program,
    contract: Program,
}

/// All programs of an evaluation.
pub struct Pieces {
    machine: Machine,
    start: Program,
    steps: Vec<Step>,
    end: Program,
}

impl Pieces {
    /// Build and prepare. Each step has its own programs; steps of one shape run the same code.
    ///
    /// # Errors
    ///
    /// tenferro refuses a graph.
    pub fn prepare(mut machine: Machine) -> Result<Self> {
        let shapes = shapes(&TRUNCATIONS);
        let beta = input(&[])?;
        let start = machine.prepare(&[&beta], &[&vertex(&beta)?])?;
        let steps = shapes.iter().map(|&shape| Step::prepare(&mut machine, shape)).collect::<Result<_>>()?;
        let [.., [_, last]] = shapes[..] else { return Err("TRG takes at least one step".into()) };
        let t = input(&[last; 4])?;
        let end = machine.prepare(&[&t], &[&ln_trace(&t)?])?;
        Ok(Self { machine, start, steps, end })
    }

    /// What the programs run on.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// ln Z/N at β, and where the time of each step went.
    ///
    /// # Errors
    ///
    /// A kernel fails.
    pub fn evaluate(&mut self, beta: f64) -> Result<(f64, Vec<Spent>)> {
        let machine = &mut self.machine;
        let [mut vertex] = array(machine.run(&self.start, &[&scalar(beta)?])?)?;
        let mut sum = 0.0;
        let mut spent = Vec::with_capacity(self.steps.len());
        for (step, weight) in self.steps.iter().zip(weights()) {
            // --8<-- [start:step]
            let began = Instant::now();
            let [first, second, ln_norm] = array(machine.run(&step.matrices, &[&vertex])?)?;
            let split = Instant::now();
            let first = machine.run(&step.svd, &[&first])?;
            let second = machine.run(&step.svd, &[&second])?;
            let decomposed = Instant::now();
            let [s1, s3] = factors_of(machine, step, &first)?;
            let [s2, s4] = factors_of(machine, step, &second)?;
            let truncated = Instant::now();
            [vertex] = array(machine.run(&step.contract, &[&s1, &s2, &s3, &s4])?)?;
            let contraction = truncated.elapsed();
            // --8<-- [end:step]
            let rest = (split - began) + (truncated - decomposed);
            spent.push(Spent { svd: decomposed - split, contraction, rest });
            sum += weight * number(&ln_norm)?;
        }
        let [ln_trace] = array(machine.run(&self.end, &[&vertex])?)?;
        let last = weights().nth(self.steps.len()).unwrap_or_default();
        Ok((sum + last * number(&ln_trace)?, spent))
    }
}

impl Step {
    fn prepare(machine: &mut Machine, [before, kept]: [usize; 2]) -> Result<Self> {
        let rows = before * before;
        let t = input(&[before; 4])?;
        let ([first, second], ln_norm) = matrices(&t)?;
        let matrices = machine.prepare(&[&t], &[&first, &second, &ln_norm])?;

        let matrix = input(&[rows, rows])?;
        let (u, s, vt) = matrix.svd()?;
        let svd = machine.prepare(&[&matrix], &[&u, &s, &vt])?;

        let (u, s, vt) = (input(&[rows, rows])?, input(&[rows])?, input(&[rows, rows])?);
        let inputs = (u, s, vt);
        let [left, right] = factors(&inputs, kept)?;
        let factors = machine.prepare(&[&inputs.0, &inputs.1, &inputs.2], &[&left, &right])?;

        let leg = || input(&[before, before, kept]);
        let tensors = [leg()?, leg()?, leg()?, leg()?];
        let contract = machine.prepare(&tensors.each_ref(), &[&contract(&tensors, Order::Chain)?])?;
        Ok(Self { matrices, svd, factors, contract })
    }
}

fn factors_of(machine: &mut Machine, step: &Step, svd: &[Tensor]) -> Result<[Tensor; 2]> {
    array(machine.run(&step.factors, &svd.iter().collect::<Vec<_>>())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_give_the_published_value() {
        let (value, spent) = Pieces::prepare(Machine::new(1).unwrap()).unwrap().evaluate(0.3).unwrap();
        assert!((value - 0.790_559_063_800_966).abs() < 1e-12, "{value}");
        assert_eq!(spent.len(), TRUNCATIONS.len());
        assert!(spent.iter().all(|step| step.svd > Duration::ZERO && step.contraction > Duration::ZERO));
    }
}

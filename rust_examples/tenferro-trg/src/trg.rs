//! The whole evaluation: small programs, one after another.

use tenferro_runtime::{Tensor, TracedTensor};

use crate::ising::{TRUNCATIONS, shapes};
use crate::machine::{Machine, Program, Result};
use crate::stage::{Order, inner, input, ln_trace, step, vertex};

/// A piece of the evaluation and its reverse, which gets the same input and the cotangents of the outputs.
struct Stage {
    forward: Program,
    reverse: Program,
}

/// ln Z/N and its derivative by TRG. The reverse program of a step recomputes the step, both SVDs included.
pub struct Trg {
    machine: Machine,
    start: Stage,
    /// One for each step shape.
    steps: Vec<Stage>,
    /// Which of them each step takes.
    plan: Vec<usize>,
    end: Stage,
}

impl Trg {
    /// Build, differentiate, compile and prepare all programs for 20 steps that keep at most 16 singular values.
    ///
    /// # Errors
    ///
    /// tenferro refuses a graph.
    pub fn prepare(machine: Machine, order: Order) -> Result<Self> {
        Self::with_truncations(machine, order, &TRUNCATIONS)
    }

    /// The same with one step for each truncation.
    ///
    /// # Errors
    ///
    /// tenferro refuses a graph.
    pub fn with_truncations(mut machine: Machine, order: Order, truncations: &[usize]) -> Result<Self> {
        let mut distinct: Vec<[usize; 2]> = Vec::new();
        let mut plan = Vec::with_capacity(truncations.len());
        let mut last = 2;
        for shape in shapes(truncations) {
            let known = distinct.iter().position(|other| *other == shape);
            plan.push(known.unwrap_or(distinct.len()));
            if known.is_none() {
                distinct.push(shape);
            }
            last = shape[1];
        }
        let start = stage(&mut machine, &[], |beta| Ok(vec![vertex(beta)?]))?;
        let steps = distinct
            .iter()
            .map(|&[before, kept]| stage(&mut machine, &[before; 4], |t| Ok(step(t, kept, order)?.to_vec())))
            .collect::<Result<_>>()?;
        let end = stage(&mut machine, &[last; 4], |t| Ok(vec![ln_trace(t)?]))?;
        Ok(Self { machine, start, steps, plan, end })
    }

    /// What the programs run on.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// How many shapes of steps there are.
    #[must_use]
    pub fn step_shapes(&self) -> usize {
        self.steps.len()
    }

    /// Operations in all compiled programs.
    #[must_use]
    pub fn ops(&self) -> usize {
        let stages = self.steps.iter().chain([&self.start, &self.end]);
        stages.map(|stage| stage.forward.ops + stage.reverse.ops).sum()
    }

    /// ln Z/N at inverse temperature β.
    ///
    /// # Errors
    ///
    /// A kernel fails.
    pub fn value(&mut self, beta: f64) -> Result<f64> {
        let mut vertex = self.start_at(beta)?;
        let mut sum = 0.0;
        for (&shape, weight) in self.plan.iter().zip(weights()) {
            let [next, ln_norm] = array(self.machine.run(&self.steps[shape].forward, &[&vertex])?)?;
            sum += weight * number(&ln_norm)?;
            vertex = next;
        }
        Ok(sum + self.last_weight() * self.ln_trace(&vertex)?)
    }

    /// ln Z/N and its derivative by β.
    ///
    /// # Errors
    ///
    /// A kernel fails.
    pub fn value_and_grad(&mut self, beta: f64) -> Result<(f64, f64)> {
        // --8<-- [start:reverse]
        let mut vertices = vec![self.start_at(beta)?];
        let mut sum = 0.0;
        for (&shape, weight) in self.plan.iter().zip(weights()) {
            let vertex = &vertices[vertices.len() - 1];
            let [next, ln_norm] = array(self.machine.run(&self.steps[shape].forward, &[vertex])?)?;
            sum += weight * number(&ln_norm)?;
            vertices.push(next);
        }
        let last = vertices.pop().ok_or("no step was taken")?;
        sum += self.last_weight() * self.ln_trace(&last)?;

        let [mut cotangent] = array(self.machine.run(&self.end.reverse, &[&last, &scalar(self.last_weight())?])?)?;
        let steps: Vec<_> = vertices.iter().zip(&self.plan).zip(weights()).collect();
        for ((vertex, &shape), weight) in steps.into_iter().rev() {
            let inputs = [vertex, &cotangent, &scalar(weight)?];
            [cotangent] = array(self.machine.run(&self.steps[shape].reverse, &inputs)?)?;
        }
        let [slope] = array(self.machine.run(&self.start.reverse, &[&scalar(beta)?, &cotangent])?)?;
        // --8<-- [end:reverse]
        Ok((sum, number(&slope)?))
    }

    fn start_at(&mut self, beta: f64) -> Result<Tensor> {
        let [vertex] = array(self.machine.run(&self.start.forward, &[&scalar(beta)?])?)?;
        Ok(vertex)
    }

    fn ln_trace(&mut self, vertex: &Tensor) -> Result<f64> {
        let [ln_trace] = array(self.machine.run(&self.end.forward, &[vertex])?)?;
        number(&ln_trace)
    }

    /// One tensor stands for 2^steps vertices.
    fn last_weight(&self) -> f64 {
        self.plan.iter().fold(1.0, |weight, _| weight / 2.0)
    }
}

/// Share of the vertices that each tensor stands for, step by step: 1, 1/2, 1/4, …
pub(crate) fn weights() -> impl Iterator<Item = f64> {
    std::iter::successors(Some(1.0), |weight| Some(weight / 2.0))
}

/// Build a graph with one input and prepare it and its reverse.
fn stage(
    machine: &mut Machine,
    shape: &[usize],
    graph: impl FnOnce(&TracedTensor) -> Result<Vec<TracedTensor>>,
) -> Result<Stage> {
    // --8<-- [start:stage]
    let x = input(shape)?;
    let outputs = graph(&x)?;
    let forward = machine.prepare(&[&x], &outputs.iter().collect::<Vec<_>>())?;

    let cotangents = outputs.iter().map(|output| input(&output.concrete_shape()?)).collect::<Result<Vec<_>>>()?;
    let products = outputs.iter().zip(&cotangents).map(|(output, cotangent)| inner(output, cotangent));
    let loss = products.reduce(|sum, product| Ok((&sum? + &product?)?)).ok_or("a stage without outputs")??;
    let slope = machine.grad(&loss, &x)?;
    let inputs: Vec<_> = [&x].into_iter().chain(&cotangents).collect();
    let reverse = machine.prepare(&inputs, &[&slope])?;
    // --8<-- [end:stage]
    Ok(Stage { forward, reverse })
}

pub(crate) fn scalar(value: f64) -> Result<Tensor> {
    Ok(Tensor::from_vec_col_major(vec![], vec![value])?)
}

pub(crate) fn number(tensor: &Tensor) -> Result<f64> {
    Ok(tensor.as_slice::<f64>()?[0])
}

/// As many outputs as the caller takes apart.
pub(crate) fn array<const N: usize>(outputs: Vec<Tensor>) -> Result<[Tensor; N]> {
    let count = outputs.len();
    outputs.try_into().map_err(|_| format!("the program gave {count} outputs instead of {N}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ln Z/N of 2×2 spins on a torus and its derivative, by adding up all 16 states. Each pair of neighbours has two bonds.
    fn four_spins(beta: f64) -> (f64, f64) {
        let spin = |state: u32, site: u32| if state >> site & 1 == 0 { 1.0 } else { -1.0 };
        let bonds = [(0, 1), (2, 3), (0, 2), (1, 3)];
        let energy = |state| -2.0 * bonds.map(|(a, b)| spin(state, a) * spin(state, b)).iter().sum::<f64>();
        let weights: Vec<(f64, f64)> = (0..16).map(energy).map(|energy| (energy, (-beta * energy).exp())).collect();
        let partition: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let mean = weights.iter().map(|(energy, weight)| energy * weight).sum::<f64>() / partition;
        (partition.ln() / 4.0, -mean / 4.0)
    }

    fn trg(order: Order, truncations: &[usize]) -> Trg {
        Trg::with_truncations(Machine::new(1).unwrap(), order, truncations).unwrap()
    }

    #[test]
    fn two_steps_without_truncation_are_exact_for_four_spins() {
        for order in [Order::Chain, Order::Pairwise] {
            let mut trg = trg(order, &[2, 4]);
            for beta in [0.3, 0.6] {
                let ((value, slope), (exact, exact_slope)) = (trg.value_and_grad(beta).unwrap(), four_spins(beta));
                assert!((value - exact).abs() < 1e-13, "{order:?}, {beta}: {value}, not {exact}");
                assert!((slope - exact_slope).abs() < 1e-12, "{order:?}, {beta}: {slope}, not {exact_slope}");
            }
        }
    }

    #[test]
    fn truncation_to_fewer_singular_values_shows() {
        let value = trg(Order::Chain, &[2, 3]).value(0.3).unwrap();
        assert!((value - four_spins(0.3).0).abs() > 1e-6, "{value}");
    }

    #[test]
    fn a_wider_engine_gives_the_same() {
        let machine = Machine::new(2).unwrap();
        assert_eq!(machine.width(), 2);
        let value = Trg::with_truncations(machine, Order::Chain, &[2, 4]).unwrap().value(0.3).unwrap();
        assert!((value - four_spins(0.3).0).abs() < 1e-13, "{value}");
    }

    #[test]
    fn values_are_the_published_ones() {
        let mut trg = Trg::prepare(Machine::new(1).unwrap(), Order::Chain).unwrap();
        assert_eq!(trg.step_shapes(), 5);
        for (beta, published) in [(0.3, 0.790_559_063_800_966), (0.4, 0.879_363_060_306_852), (0.5, 1.025_792_858_455_947)] {
            let value = trg.value(beta).unwrap();
            assert!((value - published).abs() < 1e-12, "{beta}: {value}, not {published}");
        }
    }

    #[test]
    fn the_order_of_contraction_changes_nothing_but_rounding() {
        let value = Trg::prepare(Machine::new(1).unwrap(), Order::Pairwise).unwrap().value(0.3).unwrap();
        assert!((value - 0.790_559_063_800_966).abs() < 1e-12, "{value}");
    }

    /// The exact energy is met as far as truncation allows.
    #[test]
    fn gradients_are_slopes_and_nearly_exact() {
        let mut trg = Trg::prepare(Machine::new(1).unwrap(), Order::Chain).unwrap();
        for (beta, accuracy) in [(0.3, 1e-6), (0.5, 4e-5)] {
            let (value, slope) = trg.value_and_grad(beta).unwrap();
            assert!((value - trg.value(beta).unwrap()).abs() < 1e-14, "{beta}: {value}");
            let mut central = |h: f64| (trg.value(beta + h).unwrap() - trg.value(beta - h).unwrap()) / (2.0 * h);
            let extrapolated = (4.0 * central(1e-4) - central(2e-4)) / 3.0;
            assert!((slope - extrapolated).abs() < 1e-9, "{beta}: {slope}, not {extrapolated}");
            assert!((slope + crate::ising::exact_energy(beta)).abs() < accuracy, "{beta}: {slope}");
        }
    }
}

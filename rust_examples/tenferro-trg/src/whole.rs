//! The same computation as a single graph.

use tenferro_runtime::TracedTensor;

use crate::ising::shapes;
use crate::machine::Result;
use crate::stage::{Order, input, ln_trace, step, vertex};
use crate::trg::weights;

/// ln Z/N as a graph of β, with one step for each truncation.
///
/// # Errors
///
/// tenferro refuses a shape.
pub fn whole(truncations: &[usize]) -> Result<[TracedTensor; 2]> {
    let beta = input(&[])?;
    let mut vertex = vertex(&beta)?;
    let mut sum = TracedTensor::from_vec_col_major(vec![], vec![0.0])?;
    for ([_, kept], weight) in shapes(truncations).into_iter().zip(weights()) {
        let [next, ln_norm] = step(&vertex, kept, Order::Chain)?;
        sum = (&sum + &ln_norm.scale_real(weight)?)?;
        vertex = next;
    }
    let weight = weights().nth(truncations.len()).unwrap_or_default();
    let lnz = (&sum + &ln_trace(&vertex)?.scale_real(weight)?)?;
    Ok([beta, lnz])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ising::TRUNCATIONS;
    use crate::machine::Machine;
    use crate::trg::{Trg, number, scalar};

    #[test]
    fn one_graph_and_stages_agree() {
        let truncations = &TRUNCATIONS[..3];
        let [beta, lnz] = whole(truncations).unwrap();
        let mut machine = Machine::new(1).unwrap();
        let slope = machine.grad(&lnz, &beta).unwrap();
        let program = machine.prepare(&[&beta], &[&lnz, &slope]).unwrap();
        let outputs = machine.run(&program, &[&scalar(0.3).unwrap()]).unwrap();
        let mut stages = Trg::with_truncations(machine, Order::Chain, truncations).unwrap();
        let (value, derivative) = stages.value_and_grad(0.3).unwrap();
        assert!((number(&outputs[0]).unwrap() - value).abs() < 1e-13);
        assert!((number(&outputs[1]).unwrap() - derivative).abs() < 1e-12);
    }
}

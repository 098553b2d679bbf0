//! The gradient of a scalar function of 1000 numbers as a prepared tenferro program: its very first runs, then thousands.

use std::process::ExitCode;

use measure::{Param, Phase, Report, Series, doubling, largest, milliseconds, program, say, time, time_then};
use tenferro_trg::stage::input;
use tenferro_trg::{Machine, Result, Tensor, TracedTensor, observed};

const N: usize = 1000;
const FIRST_RUNS: usize = 5;
const TRIALS: usize = 3;
const RUNS: usize = 2000;
/// Of the self-check.
const CHECK_RUNS: usize = 200;
const TOLERANCE: f64 = 1e-14;

fn main() -> ExitCode {
    program(env!("CARGO_PKG_NAME"), &["--width"], run)
}

// --8<-- [start:f]
/// f(x) = Σ (x sin x + x²/2)
fn f(x: &TracedTensor) -> Result<TracedTensor> {
    let terms = (&(x * &x.sin()?)? + &(x * x)?.scale_real(0.5)?)?;
    Ok(terms.reduce_sum(Some(&[0]))?)
}
// --8<-- [end:f]

fn run(report: &mut Report) -> Result<()> {
    let width = report.count("--width", 1);
    // --8<-- [start:grad]
    let mut machine = Machine::new(width)?;
    let x = input(&[N])?;
    let gradient = machine.grad(&f(&x)?, &x)?;
    let program = machine.prepare(&[&x], &[&gradient])?;
    // --8<-- [end:grad]
    let points: Vec<f64> = (0..N).map(|i| i as f64 / N as f64).collect();
    let exact: Vec<f64> = points.iter().map(|x| x.sin() + x * x.cos() + x).collect();
    let at = Tensor::from_vec_col_major(vec![N], points)?;

    let mut results = Vec::with_capacity(FIRST_RUNS);
    let first = time_then(FIRST_RUNS, || machine.run(&program, &[&at]), |result| results.push(result));
    let gradients = results.into_iter().collect::<Result<Vec<_>>>()?;
    let (mut error, mut checksum) = (0.0, 0.0);
    for gradient in &gradients {
        let gradient = gradient[0].as_slice::<f64>()?;
        error = largest(gradient.iter().zip(&exact).map(|(got, want)| got - want).chain([error]));
        checksum = gradient.iter().sum();
    }
    if error.total_cmp(&TOLERANCE).is_gt() {
        return Err(format!("梯度和解析式相差 {error:.3e}；不报时间").into());
    }
    say!("width={width} first run {:.1} us", milliseconds(first.samples[0]) * 1e3);
    report.record(Series::of("grad", Phase::First, 0, &[]), &first);

    let runs = report.reps(RUNS);
    for trial in 0..TRIALS {
        let timing = time(runs, || machine.run(&program, &[&at]).expect("it ran before"));
        let [min, median, p90] = [0.0, 0.5, 0.9].map(|share| timing.quantile(share) * 1e3);
        say!("width={width} trial {trial}: min {min:6.1} us  median {median:6.1} us  p90 {p90:6.1} us");
        let params: [Param; 1] = [("trial", trial.into())];
        report.record(Series::of("grad", Phase::Steady, FIRST_RUNS + trial * runs, &params), &timing);
    }
    if width == 1 {
        let work = || machine.run(&program, &[&at]).expect("it ran before");
        report.fact("grad-doubling", doubling(report.reps(CHECK_RUNS), work, drop)?);
    }
    report.fact("n", N);
    report.fact("checksum", checksum);
    report.fact("max-error", error);
    observed(report, &machine)
}

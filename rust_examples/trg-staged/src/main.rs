//! TRG of the 2D Ising model in stages: ln Z/N, and its derivative by β, at five temperatures one after another.
//!
//! `--width` is the engine's number of threads, `--order` the order of contraction, `--beta` the only temperature, `--hogs` how many
//! processes keep cores busy.
//!
//! An engine wider than the cores that are free can be a hundred times slower. For that there are `--quantity value`, which leaves
//! the derivative out, `--reps`, and `--budget`: when so many seconds are over, no further temperature is begun.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use measure::{Hogs, Param, Phase, Report, Series, Timing, doubling, largest, milliseconds, program, say, time, time_then};
use tenferro_trg::ising::{BETAS, exact_energy, exact_lnz};
use tenferro_trg::stage::Order;
use tenferro_trg::{Contraction, Machine, Result, Trg, observed};

const REPS: usize = 3;
/// Under `--quick`, where one temperature has to do.
const QUICK_REPS: usize = 1;
const CONTRACTION_REPS: usize = 30;
const SVDS: usize = 40;

/// Step of the central difference. Its own error is below 1e-6: the third derivative is largest at β = 0.40.
const DIFFERENCE: f64 = 1e-4;
/// Between repeated evaluations: a wide engine may add in another order.
const SPREAD: f64 = 1e-12;
/// Between the derivative and the central difference.
const TOLERANCE: f64 = 1e-5;

fn main() -> ExitCode {
    program(env!("CARGO_PKG_NAME"), &["--width", "--order", "--beta", "--hogs", "--quantity", "--reps", "--budget"], run)
}

fn run(report: &mut Report) -> Result<()> {
    let width = report.count("--width", 1);
    let order = report.option("--order", Order::Chain, " chain 或 pairwise", Order::named);
    let with_grad = report.option("--quantity", true, " value 或 value-and-grad", |text| match text {
        "value" => Some(false),
        "value-and-grad" => Some(true),
        _ => None,
    });
    let (reps, betas) = if report.is_quick() { (QUICK_REPS, &BETAS[..1]) } else { (REPS, &BETAS[..]) };
    let betas = report.option("--beta", betas, &format!(" {} 之一", BETAS.join("、")), |text| {
        BETAS.iter().position(|beta| *beta == text).map(|at| &BETAS[at..=at])
    });
    let reps = report.option("--reps", reps, "正整数", |text| text.parse().ok().filter(|&reps| reps > 0));
    let budget =
        report.option("--budget", None, "秒数", |text| text.parse().ok().map(|seconds| Some(Duration::from_secs(seconds))));
    let busy = report.count("--hogs", 0);
    let hogs = Hogs::start(busy)?;

    // --8<-- [start:prepare]
    let mut prepared = None;
    let timing = time_then(1, || Trg::prepare(Machine::new(width)?, order), |trg| prepared = Some(trg));
    let mut trg = prepared.ok_or("nothing was prepared")??;
    // --8<-- [end:prepare]
    let (shapes, ops) = (trg.step_shapes(), trg.ops());
    let took = milliseconds(timing.samples[0]);
    say!("build+grad+compile+prepare all programs {took:.1} ms ({shapes} step shapes, {ops} ops in total)");
    report.record(Series::of("prepare", Phase::Prepare, 0, &[]), &timing);
    report.fact("step-shapes", shapes);
    report.fact("ops", ops);
    report.fact("svd-count", SVDS);

    let began = Instant::now();
    for beta in betas {
        if budget.is_some_and(|budget| began.elapsed() > budget) {
            say!("beta={beta}: not begun, {:.0} s are over", began.elapsed().as_secs_f64());
        } else {
            at(report, &mut trg, beta, reps, with_grad)?;
        }
    }
    contraction(report, width, order)?;
    if width == 1 && busy == 0 {
        let beta = betas[0].parse()?; // a busy machine, or an engine that waits for others, would spoil the self-check
        report.fact("value-doubling", doubling(1, || trg.value(beta).expect("it ran before"), drop)?);
    }

    report.fact("hogs", hogs.stop()?);
    report.fact("order", order.name());
    observed(report, trg.machine())?;
    Ok(())
}

/// Everything at one temperature. Nothing is said of the time before the result is checked.
fn at(report: &mut Report, trg: &mut Trg, name: &str, reps: usize, with_grad: bool) -> Result<()> {
    let (beta, params): (f64, [Param; 1]) = (name.parse()?, [("beta", name.into())]);
    let values = Calls::of(reps, || trg.value(beta))?;
    let (lnz, exact) = (values.results[0], exact_lnz(beta));
    let spread = largest(values.results.iter().map(|value| value - lnz));
    require(spread <= SPREAD, || format!("beta={name}：几次求值相差 {spread:.3e}"))?;
    say!("beta={beta:.2} lnZ/N={lnz:.15} exact={exact:.15} err={:+.3e}", lnz - exact);
    values.record(report, "value", &params);
    report.bits_at("lnz", &params, lnz);
    report.fact_at("exact", &params, exact);
    report.fact_at("error", &params, lnz - exact);
    if !with_grad {
        say!("  run ms: value {}", values.told());
        return Ok(());
    }

    let gradients = Calls::of(reps, || trg.value_and_grad(beta))?;
    let difference = (trg.value(beta + DIFFERENCE)? - trg.value(beta - DIFFERENCE)?) / (2.0 * DIFFERENCE);
    let spread = largest(gradients.results.iter().map(|(value, _)| value - lnz));
    let error = largest(gradients.results.iter().map(|(_, slope)| slope - difference));
    require(spread <= SPREAD, || format!("beta={name}：带梯度的求值和不带的相差 {spread:.3e}"))?;
    require(error <= TOLERANCE, || format!("beta={name}：梯度和中心差分相差 {error:.3e}"))?;
    say!("  run ms: value {}; value+grad {}", values.told(), gradients.told());
    gradients.record(report, "value-and-grad", &params);
    let (energy, exact) = (-gradients.results[0].1, exact_energy(beta));
    report.fact_at("energy", &params, energy);
    report.fact_at("exact-energy", &params, exact);
    report.fact_at("energy-error", &params, energy - exact);
    report.fact_at("gradient-difference", &params, error);
    Ok(())
}

/// The first call and the later ones, with what they returned.
struct Calls<T> {
    first: Timing,
    steady: Timing,
    results: Vec<T>,
}

impl<T> Calls<T> {
    fn of(reps: usize, mut work: impl FnMut() -> Result<T>) -> Result<Self> {
        let mut results = Vec::with_capacity(1 + reps);
        let first = time_then(1, &mut work, |result| results.push(result));
        let steady = time_then(reps, &mut work, |result| results.push(result));
        Ok(Self { first, steady, results: results.into_iter().collect::<Result<_>>()? })
    }

    fn told(&self) -> String {
        format!("first {:.2} steady {:.3}", self.first.quantile(0.5), self.steady.quantile(0.5))
    }

    fn record(&self, report: &mut Report, metric: &str, params: &[Param]) {
        report.record(Series::of(metric, Phase::First, 0, params), &self.first);
        report.record(Series::of(metric, Phase::Steady, 1, params), &self.steady);
    }
}

fn require(good: bool, wrong: impl FnOnce() -> String) -> Result<()> {
    if good { Ok(()) } else { Err(format!("{}；不报时间", wrong()).into()) }
}

/// One contraction of four tensors with legs of 16, apart from everything else.
fn contraction(report: &mut Report, width: usize, order: Order) -> Result<()> {
    let mut contraction = Contraction::prepare(Machine::new(width)?, order)?;
    contraction.check()?;
    let timing = time(report.reps(CONTRACTION_REPS), || contraction.run().expect("it ran before"));
    let name = order.name();
    report.series(Series::steady("contraction", &format!("{name} contraction, legs of 16, width={width}"), 1), &timing);
    Ok(())
}

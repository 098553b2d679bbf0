//! Where the time of one TRG evaluation goes: the SVDs, the contraction and the rest of every step, each timed inside it.

use std::process::ExitCode;
use std::time::Duration;

use measure::{Param, Phase, Report, Series, Timing, largest, milliseconds, program, say, time_then};
use tenferro_trg::ising::STEPS;
use tenferro_trg::{Machine, Pieces, Result, Spent, observed};

const BETA: f64 = 0.3;
const REPS: usize = 5;
/// Between repeated evaluations: a wide engine may add in another order.
const SPREAD: f64 = 1e-12;

/// A part of a step, by its name in records.
type Part = (&'static str, fn(&Spent) -> Duration);

const PARTS: [Part; 3] =
    [("inside-svd", |spent| spent.svd), ("inside-contraction", |spent| spent.contraction), ("inside-rest", |spent| spent.rest)];

fn main() -> ExitCode {
    program(env!("CARGO_PKG_NAME"), &["--width"], run)
}

fn run(report: &mut Report) -> Result<()> {
    let mut pieces = Pieces::prepare(Machine::new(report.count("--width", 1))?)?;
    let (warm, _) = pieces.evaluate(BETA)?;

    let mut results = Vec::new();
    let whole = time_then(report.reps(REPS), || pieces.evaluate(BETA), |result| results.push(result));
    let (values, evaluations): (Vec<f64>, Vec<Vec<Spent>>) = results.into_iter().collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let spread = largest(values.iter().map(|value| value - warm));
    if spread.total_cmp(&SPREAD).is_gt() {
        return Err(format!("几次求值相差 {spread:.3e}；不报时间").into());
    }

    for (round, (spent, whole)) in evaluations.iter().zip(&whole.samples).enumerate() {
        let [svd, contraction, rest] = PARTS.map(|(_, part)| milliseconds(spent.iter().map(part).sum()));
        let whole = milliseconds(*whole);
        say!("evaluation {round}: svd {svd:.1} ms, contraction {contraction:.1} ms, rest {rest:.1} ms, whole {whole:.1} ms");
    }
    let mut record = |metric: &str, params: &[Param], samples: Vec<Duration>| {
        let timing = Timing { samples, cores: whole.cores };
        report.record(Series::of(metric, Phase::Steady, 1, params), &timing);
    };
    for (metric, part) in PARTS {
        for step in 0..STEPS {
            let samples = evaluations.iter().map(|spent| part(&spent[step])).collect();
            record(metric, &[("step", (step + 1).into())], samples);
        }
        let totals = evaluations.iter().map(|spent| spent.iter().map(part).sum()).collect();
        record(&format!("{metric}-total"), &[], totals);
    }
    record("inside-whole", &[], whole.samples.clone());
    report.bits_at("lnz", &[], warm);
    report.fact("svd-count", 2 * STEPS);
    observed(report, pieces.machine())
}

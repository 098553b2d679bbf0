//! Why the gradient of TRG is cut into stages: the derivative of more and more steps as a single graph, until time is up.
//!
//! `--limit` is the time for all of it, in seconds.

use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use measure::{Param, Phase, Report, Series, Timing, milliseconds, program, say, time_then};
use tenferro_trg::ising::{STEPS, TRUNCATIONS};
use tenferro_trg::{Machine, Result, observed, whole};

const LIMIT: u64 = 60;
const QUICK_LIMIT: u64 = 3;

fn main() -> ExitCode {
    program(env!("CARGO_PKG_NAME"), &["--limit"], run)
}

/// The derivative of a graph of so many steps.
struct Derivative {
    steps: usize,
    /// Recording the graph and differentiating it.
    trace: Timing,
    /// Compiling and preparing the result.
    prepare: Timing,
    ops: usize,
}

impl Derivative {
    fn of(steps: usize) -> Result<Self> {
        let mut machine = Machine::new(1)?;
        // --8<-- [start:whole]
        let (trace, (beta, slope)) = once(|| {
            let [beta, lnz] = whole(&TRUNCATIONS[..steps])?;
            let slope = machine.grad(&lnz, &beta)?;
            Ok((beta, slope))
        })?;
        let (prepare, program) = once(|| machine.prepare(&[&beta], &[&slope]))?;
        // --8<-- [end:whole]
        Ok(Self { steps, trace, prepare, ops: program.ops })
    }
}

fn once<T>(work: impl FnMut() -> Result<T>) -> Result<(Timing, T)> {
    let mut results = Vec::with_capacity(1);
    let timing = time_then(1, work, |result| results.push(result));
    Ok((timing, results.pop().ok_or("nothing was called")??))
}

fn run(report: &mut Report) -> Result<()> {
    let limit = if report.is_quick() { QUICK_LIMIT } else { LIMIT };
    let limit = Duration::from_secs(report.option("--limit", limit, "秒数", |text| text.parse().ok()));
    // A derivative on its way cannot be interrupted: it runs in a thread of its own, which dies with the process.
    let (sender, receiver) = channel();
    thread::spawn(move || differentiate(&sender));
    let began = Instant::now();
    let mut done = 0;
    while done < STEPS
        && let Ok(derivative) = receiver.recv_timeout(limit.saturating_sub(began.elapsed()))
    {
        let Derivative { steps, trace, prepare, ops } = derivative?;
        let (traced, prepared) = (milliseconds(trace.samples[0]), milliseconds(prepare.samples[0]));
        say!("steps={steps}: build+grad {traced:.1} ms, compile+prepare {prepared:.1} ms ({ops} ops)");
        let params: [Param; 1] = [("steps", steps.into())];
        report.record(Series::of("whole", Phase::Trace, 0, &params), &trace);
        report.record(Series::of("whole", Phase::Prepare, 0, &params), &prepare);
        report.fact_at("ops", &params, ops);
        done = steps;
    }
    if done < STEPS {
        say!("steps={}: not done, {} s are over", done + 1, limit.as_secs());
    }
    report.fact("steps-done", done);
    report.fact("limit", limit.as_secs());
    observed(report, &Machine::new(1)?)
}

/// One step, two steps, three steps … until nobody listens.
fn differentiate(sender: &Sender<std::result::Result<Derivative, String>>) {
    for steps in 1..=STEPS {
        let derivative = Derivative::of(steps).map_err(|problem| problem.to_string());
        if sender.send(derivative).is_err() {
            break;
        }
    }
}

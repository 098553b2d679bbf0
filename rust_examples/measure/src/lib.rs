//! The clock, the printed line and the protocol that all timed programs of the book share.
//!
//! A program prints one line per measurement for people. Only when `MEASURE_OUT` names a file it also writes JSON lines there:
//! a header, series and facts, and an end that says how many lines came before it, so that a cut-off file is noticed.

use std::env;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufWriter, Write};
use std::process;
use std::time::Instant;

use cpu_time::ProcessTime;
use serde_json::{Map, Value, json};

/// Version of the protocol; the reader refuses any other.
pub const PROTOCOL_VERSION: u32 = 1;

/// What the timed loop saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// One duration per call, in nanoseconds, in the order taken.
    pub nanoseconds: Vec<u64>,
    /// CPU time of the whole process over wall time, warm-up excluded: the cores really used.
    pub cores: f64,
}

/// Time `reps` calls of `work`.
///
/// `work` ends with whatever makes its result usable (a sync, a read-back). The result is kept until the clock has been read
/// and dropped after it.
pub fn time<T>(reps: usize, work: impl FnMut() -> T) -> Samples {
    time_then(reps, work, drop)
}

/// Time `reps` calls of `work`; `settle` takes each result once the clock has been read.
///
/// This is the only timing loop of the book's Rust programs.
// --8<-- [start:time]
pub fn time_then<T>(reps: usize, mut work: impl FnMut() -> T, mut settle: impl FnMut(T)) -> Samples {
    let mut nanoseconds = Vec::with_capacity(reps);
    let (cpu, wall) = (ProcessTime::now(), Instant::now());
    for _ in 0..reps {
        let begin = Instant::now();
        let result = black_box(work());
        let elapsed = begin.elapsed();
        settle(result);
        nanoseconds.push(elapsed.as_nanos() as u64);
    }
    let cores = cpu.elapsed().as_secs_f64() / wall.elapsed().as_secs_f64();
    Samples { nanoseconds, cores }
}
// --8<-- [end:time]

/// Which part of a computation's life a series belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The first call of its kind in the process.
    First,
    /// After warm-up.
    Steady,
}

/// Where the clock was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The call returned; the result may not be there yet.
    Call,
    /// The result can be used.
    Ready,
}

/// One measurement, as it is printed and recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Series<'a> {
    /// Name in records: lower case and hyphens.
    pub metric: &'a str,
    /// Name in the printed line.
    pub what: &'a str,
    /// Part of the computation's life.
    pub phase: Phase,
    /// Where the clock was stopped.
    pub scope: Scope,
    /// Calls before the first sample.
    pub warm_up: usize,
    /// Whether the printed line says how many calls came before.
    pub say_warm_up: bool,
}

/// What one process reports: lines for people, and the protocol file where one is asked for.
pub struct Report {
    label: String,
    quick: bool,
    file: Option<BufWriter<File>>,
    lines: usize,
}

impl Report {
    /// Read the command line (`--quick` is all there is) and open the protocol file if `MEASURE_OUT` names one.
    ///
    /// Ends the process with status 2 on an argument it does not know.
    #[must_use]
    pub fn start(label: &str) -> Self {
        let mut quick = false;
        for argument in env::args().skip(1) {
            match argument.as_str() {
                "--quick" => quick = true,
                other => {
                    eprintln!("{label}：不认识的参数 {other}。只有 --quick（少跑几次）");
                    process::exit(2);
                }
            }
        }
        let file = env::var_os("MEASURE_OUT").map(|path| {
            BufWriter::new(File::create(&path).unwrap_or_else(|error| {
                eprintln!("{label}：打不开 MEASURE_OUT 指的文件：{error}");
                process::exit(2);
            }))
        });
        let mut report = Self { label: label.to_owned(), quick, file, lines: 0 };
        report.write(&json!({"type": "header", "protocol": PROTOCOL_VERSION, "program": label, "quick": quick}));
        report
    }

    /// How often to repeat: `full`, or 3 under `--quick`.
    #[must_use]
    pub fn reps(&self, full: usize) -> usize {
        if self.quick { 3 } else { full }
    }

    /// Print a measurement and record it.
    pub fn series(&mut self, series: Series, samples: &Samples) {
        println!("{}", line(&self.label, series, &samples.nanoseconds));
        let phase = match series.phase {
            Phase::First => "first",
            Phase::Steady => "steady",
        };
        let scope = match series.scope {
            Scope::Call => "call",
            Scope::Ready => "ready",
        };
        self.write(&json!({
            "type": "series", "metric": series.metric, "phase": phase, "scope": scope, "unit": "ns", "params": Map::new(),
            "warm_up": series.warm_up, "cores": samples.cores, "samples": samples.nanoseconds,
        }));
    }

    /// Record a value that is not a time.
    pub fn fact(&mut self, name: &str, value: impl Into<Value>) {
        let value: Value = value.into();
        self.write(&json!({"type": "fact", "name": name, "value": value}));
    }

    /// Say that nothing is missing. A program that dies before this leaves a file that no one takes for a result.
    ///
    /// # Errors
    /// When the protocol file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        let lines = self.lines;
        self.write(&json!({"type": "end", "lines": lines}));
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }

    fn write(&mut self, value: &Value) {
        self.lines += 1;
        if let Some(file) = &mut self.file
            && let Err(error) = writeln!(file, "{value}")
        {
            eprintln!("{}：写不进 MEASURE_OUT：{error}", self.label);
            process::exit(1);
        }
    }
}

/// Threads that rayon's pool has; 1 in a program built without rayon.
#[must_use]
pub fn threads() -> usize {
    #[cfg(feature = "rayon")]
    {
        rayon::current_num_threads()
    }
    #[cfg(not(feature = "rayon"))]
    {
        1
    }
}

/// The line the pages quote, in milliseconds.
fn line(label: &str, series: Series, nanoseconds: &[u64]) -> String {
    let mut sorted = nanoseconds.to_vec();
    sorted.sort_unstable();
    let n = sorted.len();
    let middle = f64::midpoint(sorted[(n - 1) / 2] as f64, sorted[n / 2] as f64);
    let warm_up = if series.say_warm_up { format!(" after {} warm-up", series.warm_up) } else { String::new() };
    format!("{label}: {}, {n} runs{warm_up}: min {:.3}ms median {:.3}ms", series.what, sorted[0] as f64 / 1e6, middle / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATMUL: Series = Series {
        metric: "matmul",
        what: "1024x1024 matmul",
        phase: Phase::Steady,
        scope: Scope::Ready,
        warm_up: 3,
        say_warm_up: false,
    };

    #[test]
    fn the_line_is_the_one_the_pages_quote() {
        let printed = line("pitb-exec-cpu", MATMUL, &[22_005_400, 21_424_000, 23_000_000]);
        assert_eq!(printed, "pitb-exec-cpu: 1024x1024 matmul, 3 runs: min 21.424ms median 22.005ms");
    }

    #[test]
    fn the_median_of_an_even_number_lies_in_the_middle() {
        let series = Series { what: "step", say_warm_up: true, ..MATMUL };
        assert_eq!(line("x", series, &[4_000_000, 1_000_000]), "x: step, 2 runs after 3 warm-up: min 1.000ms median 2.500ms");
    }

    #[test]
    fn results_are_settled_one_by_one_and_in_order() {
        let (mut next, mut settled) = (0, Vec::new());
        let work = || {
            next += 1;
            next
        };
        let samples = time_then(4, work, |result| settled.push(result));
        assert_eq!(settled, [1, 2, 3, 4]);
        assert_eq!(samples.nanoseconds.len(), 4);
    }

    #[test]
    fn the_clock_includes_the_work_and_excludes_the_settling() {
        let nap = std::time::Duration::from_millis(20);
        let samples = time_then(2, || std::thread::sleep(nap), |()| std::thread::sleep(10 * nap));
        assert!(samples.nanoseconds.iter().all(|&ns| ns >= 20_000_000));
        assert!(samples.nanoseconds.iter().min() < Some(&200_000_000), "the settling was timed");
    }
}

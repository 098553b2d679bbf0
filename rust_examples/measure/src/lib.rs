//! The clock, the printed line and the protocol that all timed programs of the book share.
//!
//! A program prints one line per measurement for people. Only when `MEASURE_OUT` names a file it also writes JSON lines there:
//! a header, series and facts, and an end that says how many lines came before it, so that a cut-off file is noticed.

use std::env;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use serde_json::{Map, Value, json};

/// Version of the protocol; the reader refuses any other.
pub const PROTOCOL_VERSION: u32 = 1;

/// Calls that are timed under `--quick`, whatever the program does otherwise.
const QUICK_REPS: usize = 3;

/// What the timed loop saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Timing {
    /// How long each call took, in the order taken.
    pub samples: Vec<Duration>,
    /// CPU time of the whole process over wall time, warm-up excluded: the cores really used.
    pub cores: f64,
}

/// Time `reps` calls of `work`; nothing is done with a result but to let go of it, off the clock.
pub fn time<T>(reps: usize, work: impl FnMut() -> T) -> Timing {
    time_then(reps, work, drop)
}

/// Time `reps` calls of `work`, each of which returns when its result is usable (after a sync or a read-back).
///
/// The result is kept until the clock has been read; `after` gets it then. This is the only timing loop of the Rust programs.
pub fn time_then<T>(reps: usize, mut work: impl FnMut() -> T, mut after: impl FnMut(T)) -> Timing {
    // --8<-- [start:time]
    let mut samples = Vec::with_capacity(reps);
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    for _ in 0..reps {
        let start = Instant::now();
        let result = black_box(work());
        samples.push(start.elapsed());
        after(result); // freeing it is not part of any call
    }
    let cores = cpu.elapsed().div_duration_f64(wall.elapsed());
    // --8<-- [end:time]
    Timing { samples, cores }
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

/// What was timed, for the record and for the printed line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Series<'a> {
    /// Name in records: lower case and hyphens.
    pub metric: &'a str,
    /// Name in the printed line, without a colon.
    pub what: &'a str,
    /// Part of the computation's life.
    pub phase: Phase,
    /// Where the clock was stopped.
    pub scope: Scope,
    /// Calls before the first sample. A single one goes without saying in print.
    pub warm_up: usize,
}

impl<'a> Series<'a> {
    /// Calls after warm-up, each timed until its result can be used: what most programs report.
    #[must_use]
    pub fn steady(metric: &'a str, what: &'a str, warm_up: usize) -> Self {
        Self { metric, what, phase: Phase::Steady, scope: Scope::Ready, warm_up }
    }
}

/// What one process reports: lines for people, and the protocol where `MEASURE_OUT` is set.
///
/// Trouble with the command line ends the process with status 2, trouble with the file with status 1.
pub struct Report {
    label: String,
    quick: bool,
    file: Option<BufWriter<File>>,
    lines: usize,
}

impl Report {
    /// Read the command line (`--quick` is all there is) and open the protocol file if one is asked for.
    #[must_use]
    pub fn start(label: &str) -> Self {
        let arguments: Vec<OsString> = env::args_os().skip(1).collect();
        let quick = is_quick(&arguments).unwrap_or_else(|problem| die(label, 2, problem));
        let path = env::var_os("MEASURE_OUT").filter(|path| !path.is_empty());
        Self::open(label, quick, path.as_deref().map(Path::new))
    }

    fn open(label: &str, quick: bool, path: Option<&Path>) -> Self {
        let create = |path: &Path| {
            File::create(path).unwrap_or_else(|error| {
                let path = path.display();
                die(label, 2, format!("MEASURE_OUT 指的文件写不了：{path}（{error}）；换个路径，或不设这个变量"))
            })
        };
        let mut report = Self { label: label.to_owned(), quick, file: path.map(create).map(BufWriter::new), lines: 0 };
        report.write(&json!({"type": "header", "protocol": PROTOCOL_VERSION, "program": label, "quick": quick}));
        report
    }

    /// How often to repeat: `full`, or 3 times under `--quick`.
    #[must_use]
    pub fn reps(&self, full: usize) -> usize {
        if self.quick { QUICK_REPS } else { full }
    }

    /// Print a measurement and record all its samples.
    pub fn series(&mut self, series: Series, timing: &Timing) {
        println!("{}", line(&self.label, series, &timing.samples));
        let phase = match series.phase {
            Phase::First => "first",
            Phase::Steady => "steady",
        };
        let scope = match series.scope {
            Scope::Call => "call",
            Scope::Ready => "ready",
        };
        let nanoseconds: Vec<u128> = timing.samples.iter().map(Duration::as_nanos).collect();
        self.write(&json!({
            "type": "series", "metric": series.metric, "phase": phase, "scope": scope, "unit": "ns", "params": Map::new(),
            "warm_up": series.warm_up, "cores": (timing.cores * 1e4).round() / 1e4, "samples": nanoseconds,
        }));
    }

    /// Record a value that is not a time. A number must be finite.
    pub fn fact(&mut self, name: &str, value: impl Into<Value>) {
        let value: Value = value.into();
        if value.is_null() {
            die(&self.label, 1, format!("事实 {name} 不是有限的数；不写进结果，先查算出它的那一步"));
        }
        self.write(&json!({"type": "fact", "name": name, "value": value}));
    }

    /// Say that nothing is missing. A program that dies before this leaves a file that no one takes for a result.
    pub fn finish(mut self) {
        self.write(&json!({"type": "end", "lines": self.lines}));
        if let Some(Err(error)) = self.file.as_mut().map(Write::flush) {
            self.cannot_write(error);
        }
    }

    fn write(&mut self, value: &Value) {
        if let Some(Err(error)) = self.file.as_mut().map(|file| writeln!(file, "{value}")) {
            self.cannot_write(error);
        }
        self.lines += 1;
    }

    fn cannot_write(&self, error: impl Display) -> ! {
        die(&self.label, 1, format!("MEASURE_OUT 指的文件写不下去：{error}；看磁盘是否满了"))
    }
}

fn die(label: &str, status: i32, problem: impl Display) -> ! {
    eprintln!("{label}：{problem}");
    process::exit(status)
}

/// Whether the arguments ask for few repetitions; anything but `--quick` is refused.
fn is_quick(arguments: &[OsString]) -> Result<bool, String> {
    match arguments.iter().find(|argument| *argument != "--quick") {
        Some(unknown) => Err(format!("不认识的参数 {}；只有 --quick（只重复 {QUICK_REPS} 次）", unknown.display())),
        None => Ok(!arguments.is_empty()),
    }
}

/// The line the pages quote, in milliseconds.
fn line(label: &str, series: Series, samples: &[Duration]) -> String {
    let mut sorted: Vec<f64> = samples.iter().map(|sample| sample.as_nanos() as f64 / 1e6).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let (min, median) = (sorted[0], f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]));
    let after = if series.warm_up > 1 { format!(" after {} warm-up", series.warm_up) } else { String::new() };
    format!("{label}: {}, {n} runs{after}: min {min:.3}ms median {median:.3}ms", series.what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::thread::sleep;

    const MATMUL: Series =
        Series { metric: "matmul", what: "1024x1024 matmul", phase: Phase::Steady, scope: Scope::Ready, warm_up: 1 };

    fn nanoseconds<const N: usize>(values: [u64; N]) -> Vec<Duration> {
        values.map(Duration::from_nanos).to_vec()
    }

    fn quick(arguments: &[&str]) -> Result<bool, String> {
        is_quick(&arguments.iter().map(OsString::from).collect::<Vec<_>>())
    }

    /// What a report writes to its file, finished or not.
    fn written(name: &str, finish: bool) -> Vec<Value> {
        let path = env::temp_dir().join(format!("measure-{}-{name}.jsonl", process::id()));
        let mut report = Report::open("some-program", true, Some(&path));
        let timing = Timing { samples: nanoseconds([21_424_123, 22_005_000]), cores: 0.987_654_321 };
        report.series(MATMUL, &timing);
        report.fact("dtype", "f32");
        report.fact("matmul-max-error", 0.000_25);
        if finish {
            report.finish();
        } else {
            drop(report);
        }
        let text = fs::read_to_string(&path).expect("the report wrote a file");
        fs::remove_file(&path).expect("the file is ours");
        text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
    }

    #[test]
    fn the_line_is_the_one_the_pages_quote() {
        let printed = line("pitb-exec-cpu", MATMUL, &nanoseconds([22_005_400, 21_424_000, 23_000_000]));
        assert_eq!(printed, "pitb-exec-cpu: 1024x1024 matmul, 3 runs: min 21.424ms median 22.005ms");
    }

    #[test]
    fn more_than_one_warm_up_call_is_told_and_an_even_median_lies_in_the_middle() {
        let series = Series::steady("train-step", "MLP train step", 3);
        let printed = line("x", series, &nanoseconds([4_000_000, 1_000_000]));
        assert_eq!(printed, "x: MLP train step, 2 runs after 3 warm-up: min 1.000ms median 2.500ms");
    }

    #[test]
    fn the_end_counts_the_lines_before_it() {
        let expected = [
            json!({"type": "header", "protocol": 1, "program": "some-program", "quick": true}),
            json!({
                "type": "series", "metric": "matmul", "phase": "steady", "scope": "ready", "unit": "ns", "params": {},
                "warm_up": 1, "cores": 0.9877, "samples": [21_424_123, 22_005_000],
            }),
            json!({"type": "fact", "name": "dtype", "value": "f32"}),
            json!({"type": "fact", "name": "matmul-max-error", "value": 0.000_25}),
            json!({"type": "end", "lines": 4}),
        ];
        assert_eq!(written("finished", true), expected);
    }

    #[test]
    fn a_program_that_dies_leaves_no_end() {
        let lines = written("died", false);
        assert!(lines.iter().all(|line| line["type"] != "end"), "{lines:?}");
    }

    #[test]
    fn only_quick_is_an_argument() {
        assert_eq!(quick(&[]), Ok(false));
        assert_eq!(quick(&["--quick"]), Ok(true));
        let refused = quick(&["--quick", "--fast"]).expect_err("there is no --fast");
        assert!(refused.contains("不认识的参数 --fast"), "{refused}");
    }

    #[test]
    fn quick_means_few_repetitions() {
        assert_eq!(Report::open("x", true, None).reps(20), 3);
        assert_eq!(Report::open("x", false, None).reps(20), 20);
    }

    #[test]
    fn results_are_handed_on_one_by_one_and_in_order() {
        let (mut next, mut seen) = (0, Vec::new());
        let work = || {
            next += 1;
            next
        };
        let timing = time_then(4, work, |result| seen.push(result));
        assert_eq!(seen, [1, 2, 3, 4]);
        assert_eq!(timing.samples.len(), 4);
    }

    #[test]
    fn the_clock_includes_the_work_and_excludes_what_comes_after() {
        let nap = Duration::from_millis(20);
        let timing = time_then(2, || sleep(nap), |()| sleep(10 * nap));
        assert!(timing.samples.iter().all(|&sample| sample >= nap));
        assert!(timing.samples.iter().min() < Some(&(10 * nap)), "what comes after was timed");
    }

    #[test]
    fn a_sleeping_process_uses_no_core() {
        let timing = time(2, || sleep(Duration::from_millis(100)));
        assert!(timing.cores < 0.5, "{}", timing.cores); // other tests may run beside this one
    }
}

//! The clock, the printed line and the protocol that all timed programs of the book share.
//!
//! A program prints one line per measurement for people. Only when `MEASURE_OUT` names a file it also writes JSON lines there:
//! a header, series and facts, and an end that says how many lines came before it, so that a cut-off file is noticed.

mod hogs;

use std::env;
use std::ffi::OsString;
use std::fmt::{self, Display};
use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::{self, ExitCode};
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use serde_json::{Value, json};

pub use hogs::Hogs;

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

impl Timing {
    /// The sample below which a share of all lies, in milliseconds: 0 is the minimum, 0.5 the median. Linear between samples.
    ///
    /// # Panics
    ///
    /// Without samples there is no such thing.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a place among the samples
    pub fn quantile(&self, share: f64) -> f64 {
        let mut sorted: Vec<f64> = self.samples.iter().map(|&sample| milliseconds(sample)).collect();
        sorted.sort_by(f64::total_cmp);
        let place = share * (sorted.len() - 1) as f64;
        let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        below + place.fract() * (above - below)
    }
}

/// A duration as lines print it.
#[must_use]
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
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

/// Time `reps` calls of `launch` twice over: until the call returned, and until `wait` said that its result is usable.
///
/// The result is kept until both clocks have been read.
pub fn time_launch<T>(reps: usize, mut launch: impl FnMut() -> T, mut wait: impl FnMut(&T)) -> (Timing, Timing) {
    // --8<-- [start:launch]
    let (mut returned, mut ready) = (Vec::with_capacity(reps), Vec::with_capacity(reps));
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    for _ in 0..reps {
        let start = Instant::now();
        let result = black_box(launch());
        returned.push(start.elapsed());
        wait(&result);
        ready.push(start.elapsed());
        drop(result);
    }
    let cores = cpu.elapsed().div_duration_f64(wall.elapsed());
    // --8<-- [end:launch]
    (Timing { samples: returned, cores }, Timing { samples: ready, cores })
}

/// How often [`doubling`] tries: a busy machine can spoil one try.
const TRIES: usize = 10;

/// How much longer 2n calls with a read-back at their end take than n timed calls: 2, if each call waited for its result.
///
/// # Errors
///
/// Work that is only launched, or never done because nobody looks, gives something other than 1.8 to 2.2, and nothing it says of
/// time can be believed.
pub fn doubling<T>(reps: usize, mut work: impl FnMut() -> T, mut force: impl FnMut(T)) -> Result<f64, String> {
    let mut ratio = 0.0;
    for _ in 0..TRIES {
        let single: Duration = time(reps, &mut work).samples.iter().sum();
        let start = Instant::now();
        for _ in 1..2 * reps {
            drop(black_box(work()));
        }
        force(work());
        ratio = start.elapsed().div_duration_f64(single.max(Duration::from_nanos(1)));
        if (1.8..=2.2).contains(&ratio) {
            return Ok(ratio);
        }
    }
    Err(format!(
        "计时自检失败：{} 次调用（末尾读回结果）的用时是 {reps} 次的 {ratio:.2} 倍，应为 1.8 到 2.2；\
         计时区间没有等到结果，或者机器太忙",
        2 * reps
    ))
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
    /// Bringing up a device.
    Init,
    /// Recording the computation as a graph.
    Trace,
    /// Making a program of the graph.
    Compile,
    /// All that is done once, before the first call.
    Prepare,
    /// The first call of its kind in the process.
    First,
    /// After warm-up.
    Steady,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Trace => "trace",
            Self::Compile => "compile",
            Self::Prepare => "prepare",
            Self::First => "first",
            Self::Steady => "steady",
        }
    }
}

/// Where the clock was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The call returned; the result may not be there yet.
    Call,
    /// The result can be used.
    Ready,
    /// The device's own clock.
    Device,
    /// A value has come back to the host.
    Readback,
}

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Ready => "ready",
            Self::Device => "device",
            Self::Readback => "readback",
        }
    }
}

/// A parameter tells apart series, or facts, of one name: `("beta", "0.30".into())`.
pub type Param<'a> = (&'a str, Setting<'a>);

/// The value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting<'a> {
    /// A word, or a number in the digits by which records name it.
    Text(&'a str),
    /// A count.
    Count(usize),
}

impl<'a> From<&'a str> for Setting<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<usize> for Setting<'_> {
    fn from(count: usize) -> Self {
        Self::Count(count)
    }
}

/// The largest absolute value. NaN counts as larger than any number, so that it cannot hide.
#[must_use]
pub fn largest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(f64::abs).max_by(f64::total_cmp).unwrap_or(f64::NAN)
}

fn object(params: &[Param]) -> Value {
    let value = |setting| match setting {
        Setting::Text(text) => Value::from(text),
        Setting::Count(count) => Value::from(count),
    };
    Value::Object(params.iter().map(|&(name, setting)| (name.to_owned(), value(setting))).collect())
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
    /// What tells it apart from other series of the same metric.
    pub params: &'a [Param<'a>],
}

impl<'a> Series<'a> {
    /// Calls after warm-up, each timed until its result can be used: what most programs report.
    #[must_use]
    pub fn steady(metric: &'a str, what: &'a str, warm_up: usize) -> Self {
        Self { metric, what, phase: Phase::Steady, scope: Scope::Ready, warm_up, params: &[] }
    }

    /// A series for the record alone, without a printed line of its own: until the result can be used.
    #[must_use]
    pub fn of(metric: &'a str, phase: Phase, warm_up: usize, params: &'a [Param<'a>]) -> Self {
        Self { metric, what: metric, phase, scope: Scope::Ready, warm_up, params }
    }
}

/// Print a line for people, as `println!` does, but end without a word where nobody reads any more (`program | head -1`).
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::print_line(::std::format_args!($($text)*)) };
}

/// What [`say!`] does.
///
/// # Panics
///
/// Where stdout cannot be written for another reason than a closed pipe.
pub fn print_line(text: fmt::Arguments) {
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => process::exit(NOBODY_READS),
        outcome => outcome.expect("stdout takes a line"),
    }
}

/// The status of a program that SIGPIPE ended, as shells give it.
const NOBODY_READS: i32 = 128 + 13;

/// What one process reports: lines for people, and the protocol where `MEASURE_OUT` is set.
///
/// Trouble with the command line ends the process with status 2, trouble with the file with status 1.
pub struct Report {
    label: String,
    arguments: Arguments,
    file: Option<BufWriter<File>>,
    lines: usize,
}

impl Report {
    /// Read the command line (`--quick` is all there is) and open the protocol file if one is asked for.
    #[must_use]
    pub fn start(label: &str) -> Self {
        Self::start_with(label, &[])
    }

    /// The same for a program that also takes options, each followed by a value: `&["--width", "--order"]`.
    #[must_use]
    pub fn start_with(label: &str, options: &[&'static str]) -> Self {
        Self::read(label, env::args_os().skip(1), options)
    }

    fn read(label: &str, arguments: impl IntoIterator<Item = OsString>, options: &[&'static str]) -> Self {
        let arguments = Arguments::read(arguments, options).unwrap_or_else(|problem| die(label, 2, problem));
        let path = env::var_os("MEASURE_OUT").filter(|path| !path.is_empty());
        Self::open(label, arguments, path.as_deref().map(Path::new))
    }

    fn open(label: &str, arguments: Arguments, path: Option<&Path>) -> Self {
        let create = |path: &Path| {
            File::create(path).unwrap_or_else(|error| {
                let path = path.display();
                die(label, 2, format!("MEASURE_OUT 指的文件写不了：{path}（{error}）；换个路径，或不设这个变量"))
            })
        };
        let quick = arguments.quick;
        let mut report = Self { label: label.to_owned(), arguments, file: path.map(create).map(BufWriter::new), lines: 0 };
        report.write(&json!({"type": "header", "protocol": PROTOCOL_VERSION, "program": label, "quick": quick}));
        report
    }

    /// The value of an option, or `default` where it was not given. `expected` says what it may be.
    ///
    /// `parse` gives `None` for a value that is none of these; that ends the program.
    pub fn option<T>(&self, name: &str, default: T, expected: &str, parse: impl FnOnce(&str) -> Option<T>) -> T {
        let Some((_, text)) = self.arguments.options.iter().find(|(given, _)| *given == name) else { return default };
        parse(text).unwrap_or_else(|| die(&self.label, 2, format!("{name} 应是{expected}，这里是 {text}")))
    }

    /// A count given by an option, at least `least`; `least` where it was not given.
    #[must_use]
    pub fn count(&self, name: &str, least: usize) -> usize {
        let parse = |text: &str| text.parse().ok().filter(|&count| count >= least);
        self.option(name, least, &format!("不小于 {least} 的整数"), parse)
    }

    /// Whether a short run was asked for.
    #[must_use]
    pub fn is_quick(&self) -> bool {
        self.arguments.quick
    }

    /// How often to repeat: `full`, or at most 3 times under `--quick`.
    #[must_use]
    pub fn reps(&self, full: usize) -> usize {
        if self.arguments.quick { full.min(QUICK_REPS) } else { full }
    }

    /// Print a measurement and record all its samples.
    pub fn series(&mut self, series: Series, timing: &Timing) {
        say!("{}", line(&self.label, series, timing));
        self.record(series, timing);
    }

    /// Record all samples of a measurement that the program prints in its own way.
    pub fn record(&mut self, series: Series, timing: &Timing) {
        let nanoseconds: Vec<u128> = timing.samples.iter().map(Duration::as_nanos).collect();
        self.write(&json!({
            "type": "series", "metric": series.metric, "phase": series.phase.name(), "scope": series.scope.name(), "unit": "ns",
            "params": object(series.params), "warm_up": series.warm_up, "cores": (timing.cores * 1e4).round() / 1e4,
            "samples": nanoseconds,
        }));
    }

    /// Record a value that is not a time. A number must be finite.
    pub fn fact(&mut self, name: &str, value: impl Into<Value>) {
        self.write_fact(name, &[], &value.into(), None);
    }

    /// Record how many of `of` it was.
    pub fn count_of(&mut self, name: &str, count: usize, of: usize) {
        self.write(&json!({"type": "fact", "name": name, "value": count, "of": of}));
    }

    /// Record one of several facts of that name.
    pub fn fact_at(&mut self, name: &str, params: &[Param], value: impl Into<Value>) {
        self.write_fact(name, params, &value.into(), None);
    }

    /// Record a number down to its last bit.
    pub fn bits_at(&mut self, name: &str, params: &[Param], value: f64) {
        self.write_fact(name, params, &value.into(), Some(value.to_bits()));
    }

    fn write_fact(&mut self, name: &str, params: &[Param], value: &Value, bits: Option<u64>) {
        if value.is_null() {
            die(&self.label, 1, format!("事实 {name} 不是有限的数；不写进结果，先查算出它的那一步"));
        }
        let mut fact = json!({"type": "fact", "name": name, "value": value});
        if !params.is_empty() {
            fact["params"] = object(params);
        }
        if let Some(bits) = bits {
            fact["bits"] = format!("{bits:016x}").into();
        }
        self.write(&fact);
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

/// What a program with several modes can do: the name of each, and what runs under it.
pub type Modes<E> = [(&'static str, fn(&mut Report) -> Result<(), E>)];

/// The main function of a program whose first argument names a mode; the rest is as for [`program`].
pub fn program_with_modes<E: Display>(label: &str, modes: &Modes<E>, options: &[&'static str]) -> ExitCode {
    let wanted = env::args_os().nth(1).unwrap_or_default();
    let Some(&(_, run)) = modes.iter().find(|(name, _)| wanted == *name) else {
        let names: Vec<&str> = modes.iter().map(|&(name, _)| name).collect();
        die(label, 2, format!("第一个参数应是 {} 之一，这里是 {}", names.join("、"), wanted.display()))
    };
    conclude(Report::read(label, env::args_os().skip(2), options), label, run)
}

/// The main function of a program: report, and end with status 1 where `run` says what went wrong.
///
/// `options` are the command line's options besides `--quick`, each followed by a value. A program that starts [`Hogs`] begins so.
pub fn program<E: Display>(label: &str, options: &[&'static str], run: impl FnOnce(&mut Report) -> Result<(), E>) -> ExitCode {
    hogs::spin_if_asked();
    conclude(Report::start_with(label, options), label, run)
}

fn conclude<E: Display>(mut report: Report, label: &str, run: impl FnOnce(&mut Report) -> Result<(), E>) -> ExitCode {
    if let Err(problem) = run(&mut report) {
        eprintln!("{label}：{problem}");
        return ExitCode::FAILURE;
    }
    report.finish();
    ExitCode::SUCCESS
}

fn die(label: &str, status: i32, problem: impl Display) -> ! {
    eprintln!("{label}：{problem}");
    process::exit(status)
}

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    quick: bool,
    options: Vec<(&'static str, String)>,
}

impl Arguments {
    /// Anything but `--quick` and the named options, each followed by its value, is refused.
    fn read(arguments: impl IntoIterator<Item = OsString>, options: &[&'static str]) -> Result<Self, String> {
        let mut read = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            if argument == "--quick" {
                read.quick = true;
            } else if let Some(&name) = options.iter().find(|&&name| argument == name) {
                let value = arguments.next().and_then(|value| value.into_string().ok());
                read.options.push((name, value.ok_or_else(|| format!("{name} 之后缺一个值"))?));
            } else {
                let known = [options, &["--quick"]].concat().join("、");
                return Err(format!("不认识的参数 {}；只有 {known}（--quick：只重复 {QUICK_REPS} 次）", argument.display()));
            }
        }
        Ok(read)
    }
}

/// The line the pages quote, in milliseconds.
fn line(label: &str, series: Series, timing: &Timing) -> String {
    let (n, min, median) = (timing.samples.len(), timing.quantile(0.0), timing.quantile(0.5));
    let after = if series.warm_up > 1 { format!(" after {} warm-up", series.warm_up) } else { String::new() };
    format!("{label}: {}, {n} runs{after}: min {min:.3}ms median {median:.3}ms", series.what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::thread::sleep;

    const MATMUL: Series =
        Series { metric: "matmul", what: "1024x1024 matmul", phase: Phase::Steady, scope: Scope::Ready, warm_up: 1, params: &[] };

    fn nanoseconds<const N: usize>(values: [u64; N]) -> Timing {
        Timing { samples: values.map(Duration::from_nanos).to_vec(), cores: 0.987_654_321 }
    }

    fn read(arguments: &[&str], options: &[&'static str]) -> Result<Arguments, String> {
        Arguments::read(arguments.iter().map(OsString::from), options)
    }

    fn report(arguments: &[&str]) -> Report {
        Report::open("x", read(arguments, &["--width", "--order"]).expect("these are options"), None)
    }

    /// What a report writes to its file, finished or not.
    fn written(name: &str, finish: bool) -> Vec<Value> {
        let path = env::temp_dir().join(format!("measure-{}-{name}.jsonl", process::id()));
        let mut report = Report::open("some-program", Arguments { quick: true, ..Arguments::default() }, Some(&path));
        let timing = nanoseconds([21_424_123, 22_005_000]);
        report.series(MATMUL, &timing);
        report.fact("dtype", "f32");
        report.fact("matmul-max-error", 0.000_25);
        let params = [("beta", "0.30".into()), ("step", 3.into())];
        report.record(Series::of("value", Phase::First, 0, &params), &timing);
        report.fact_at("ranks", &params, "2 4 4");
        report.bits_at("lnz", &params[..1], 0.75);
        report.count_of("no-time", 2, 3);
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
    fn quantiles_lie_between_samples() {
        let timing = nanoseconds([5_000_000, 1_000_000, 3_000_000, 2_000_000, 4_000_000]);
        for (share, expected) in [(0.0, 1.0), (0.5, 3.0), (0.9, 4.6), (1.0, 5.0)] {
            assert!((timing.quantile(share) - expected).abs() < 1e-12, "{share}: {}", timing.quantile(share));
        }
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
            json!({
                "type": "series", "metric": "value", "phase": "first", "scope": "ready", "unit": "ns",
                "params": {"beta": "0.30", "step": 3}, "warm_up": 0, "cores": 0.9877, "samples": [21_424_123, 22_005_000],
            }),
            json!({"type": "fact", "name": "ranks", "params": {"beta": "0.30", "step": 3}, "value": "2 4 4"}),
            json!({"type": "fact", "name": "lnz", "params": {"beta": "0.30"}, "value": 0.75, "bits": "3fe8000000000000"}),
            json!({"type": "fact", "name": "no-time", "value": 2, "of": 3}),
            json!({"type": "end", "lines": 8}),
        ];
        assert_eq!(written("finished", true), expected);
    }

    #[test]
    fn a_program_that_dies_leaves_no_end() {
        let lines = written("died", false);
        assert!(lines.iter().all(|line| line["type"] != "end"), "{lines:?}");
    }

    #[test]
    fn a_program_without_options_takes_only_quick() {
        assert_eq!(read(&[], &[]), Ok(Arguments::default()));
        assert_eq!(read(&["--quick"], &[]).map(|arguments| arguments.quick), Ok(true));
        let refused = read(&["--quick", "--fast"], &[]).expect_err("there is no --fast");
        assert!(refused.contains("不认识的参数 --fast"), "{refused}");
    }

    #[test]
    fn options_have_values_and_defaults() {
        let given = report(&["--width", "8", "--quick"]);
        assert_eq!(given.count("--width", 1), 8);
        assert_eq!(given.option("--order", 'c', "", |_| None), 'c');
        assert_eq!(report(&["--order", "pairwise"]).option("--order", 'c', "", |text| text.chars().next()), 'p');
        assert_eq!(report(&[]).count("--width", 1), 1);
    }

    #[test]
    fn an_option_without_a_value_and_an_unknown_one_are_refused() {
        let refused = read(&["--width"], &["--width"]).expect_err("the value is missing");
        assert!(refused.contains("--width 之后缺一个值"), "{refused}");
        let refused = read(&["--depth", "8"], &["--width"]).expect_err("there is no --depth");
        assert!(refused.contains("--depth") && refused.contains("--width、--quick"), "{refused}");
    }

    #[test]
    fn quick_means_few_repetitions() {
        assert_eq!(report(&["--quick"]).reps(20), 3);
        assert_eq!(report(&["--quick"]).reps(1), 1);
        assert_eq!(report(&[]).reps(20), 20);
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
    fn a_launch_is_stamped_when_it_returns_and_when_its_result_is_there() {
        let nap = Duration::from_millis(20);
        let mut waited = Vec::new();
        let mut next = 0;
        let launch = || {
            next += 1;
            next
        };
        let wait = |&result: &i32| {
            sleep(nap);
            waited.push(result);
        };
        let (returned, ready) = time_launch(3, launch, wait);
        assert_eq!((returned.samples.len(), waited), (3, vec![1, 2, 3]));
        let stamps = returned.samples.iter().zip(&ready.samples);
        assert!(stamps.clone().all(|(&returned, &ready)| returned < nap && ready >= returned + nap), "{stamps:?}");
    }

    #[test]
    fn calls_that_wait_take_twice_as_long_twice_as_often() {
        let nap = Duration::from_millis(10);
        let ratio = doubling(3, || sleep(nap), |()| ()).expect("sleeping waits");
        assert!((1.8..=2.2).contains(&ratio), "{ratio}");
        let problem = doubling(3, || (), |()| sleep(nap)).expect_err("the work is done only when its result is asked for");
        assert!(problem.contains("6 次调用"), "{problem}");
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

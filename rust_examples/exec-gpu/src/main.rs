//! The same matmul timed in every way, for the first time and after, on a GPU or on burn's Flex device.
//!
//! Six crates build this one file; they differ only in the Cargo features of burn. The cache of an accelerator belongs to the
//! run: each has a folder of its own, which is gone afterwards.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;
use std::{env, fs, mem, process};

#[cfg(any(feature = "metal", feature = "vulkan", feature = "wgpu"))]
use burn::tensor::DeviceKind;
use burn::tensor::{DType, Device, Int, ProfileOptions, Tensor, TensorData, TimingMethod, read_sync};
use measure::{
    Param, Phase, Report, Scope, Series, Timing, doubling, largest, program_with_modes, say, threads, time, time_launch,
    time_then,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const SIZE: usize = 1024;
/// To see whether a call takes longer where there is more to do. On a CPU nobody doubts it.
const SMALL: usize = 512;
const LARGE: usize = 2048;
const IN_A_ROW: [usize; 3] = [SMALL, SIZE, LARGE];
const REPS: usize = 20;
/// Of the self-check.
const CHECK_REPS: usize = 3;

/// Above what TF32 makes of these sums of up to 2048 products below 1, and below what any wrong product is.
const TOLERANCE: f64 = 5e-2;

const AGREE_SIZE: usize = 256;
/// The stored inputs of `agree`, the same bytes for every library: float32, little-endian, row after row.
const STORED: [&[u8]; 2] = [
    include_bytes!("../../../measure/programs/inputs/agree-a.f32"),
    include_bytes!("../../../measure/programs/inputs/agree-b.f32"),
];

/// A name on the command line, and what brings that device up when it is first used.
type Named = (&'static str, fn() -> Device);

/// The devices of this build; the first is the default.
const DEVICES: &[Named] = &[
    #[cfg(feature = "metal")]
    ("metal", || Device::metal(DeviceKind::DefaultDevice)),
    #[cfg(feature = "cuda")]
    ("cuda", || Device::cuda(0)),
    #[cfg(feature = "vulkan")]
    ("vulkan", || Device::vulkan(DeviceKind::DefaultDevice)),
    #[cfg(feature = "wgpu")]
    ("wgpu", || Device::wgpu(DeviceKind::DefaultDevice)),
    #[cfg(feature = "ndarray")]
    ("ndarray", ndarray),
    #[cfg(not(feature = "ndarray"))]
    ("flex", Device::flex),
];

#[cfg(feature = "ndarray")]
#[allow(deprecated)] // the only backend of burn that can use Accelerate
fn ndarray() -> Device {
    Device::ndarray()
}

/// The devices that are the CPU: a call that has returned is done, nothing is tuned, and threads are those of rayon.
const ON_CPU: [&str; 2] = ["flex", "ndarray"];

fn main() -> ExitCode {
    let modes = [("mm", mm as fn(&mut Report) -> Outcome), ("first", first), ("warm", warm), ("agree", agree), ("fill", fill)];
    program_with_modes(env!("CARGO_PKG_NAME"), &modes, &["--device", "--cache", "--kept"])
}

/// One shape, timed right and wrong.
fn mm(report: &mut Report) -> Outcome {
    let workplace = Workplace::new(report, Cache::Cold)?;
    let device = (workplace.open)();
    let (a, b) = operands(SIZE, &device);
    let error = largest_error(SIZE, &a.clone().matmul(b.clone()))?; // reading it back ends the warm-up
    report.fact("matmul-max-error", error);
    let of_size: [Param; 1] = [("size", SIZE.into())];
    let steady = Series::of("matmul", Phase::Steady, 1, &of_size);
    let reps = report.reps(REPS);
    let print = |way: &str, timing: &Timing| print_way(workplace.label, SIZE, way, timing);

    // --8<-- [start:launch]
    let (returned, ready) =
        time_launch(reps, || a.clone().matmul(b.clone()), |_product| device.sync().expect("the device is alive"));
    // --8<-- [end:launch]
    print("no sync", &returned);
    print("with sync", &ready);
    report.record(Series { scope: Scope::Call, ..steady }, &returned);
    report.record(steady, &ready);
    let synced = || {
        let product = a.clone().matmul(b.clone());
        device.sync().expect("the device is alive");
        product
    };
    report.fact("matmul-doubling", doubling(report.reps(CHECK_REPS), synced, |last| drop(last.into_data()))?);

    for flush in [true, false] {
        let windows = profile(reps, flush, &device, &a, &b);
        let Some((timing, empty)) = windows else { continue };
        let way = if flush { "device time (profile_with flush)" } else { "device time (profile, no flush)" };
        if !timing.samples.is_empty() {
            let metric = if flush { "matmul" } else { "matmul-no-flush" };
            print(way, &timing);
            report.record(Series { metric, scope: Scope::Device, ..steady }, &timing);
        }
        if empty > 0 {
            say!("{} {SIZE}x{SIZE} matmul {way}: {empty} of {reps} read as no time", workplace.label);
        }
        report.count_of(if flush { "flush-no-time" } else { "no-flush-no-time" }, empty, reps);
    }

    // --8<-- [start:readback]
    let read = || a.clone().matmul(b.clone()).sum().into_scalar::<f32>();
    let warm_up = read();
    let read_back = time(reps, read);
    // --8<-- [end:readback]
    print("+ sum().into_scalar()", &read_back);
    report.record(Series { scope: Scope::Readback, ..steady }, &read_back);
    report.fact("matmul-sum", f64::from(warm_up));

    // --8<-- [start:dropped]
    let dropped = time(reps, || {
        drop(a.clone().matmul(b.clone())); // before the sync
        device.sync().expect("the device is alive");
    });
    // --8<-- [end:dropped]
    print("dropped before sync", &dropped);
    report.record(Series { metric: "matmul-dropped", ..steady }, &dropped);

    if !workplace.on_cpu() {
        other_sizes(report, &workplace, &device)?;
    }
    workplace.facts(report, &device, a.dtype())
}

/// Does a call take longer where there is more to do? The largest products are never waited for, so that they are never done.
fn other_sizes(report: &mut Report, workplace: &Workplace, device: &Device) -> Outcome {
    let (a, b) = operands(SMALL, device);
    largest_error(SMALL, &a.clone().matmul(b.clone()))?;
    let wait = |_: &Tensor<2>| device.sync().expect("the device is alive");
    let (returned, ready) = time_launch(report.reps(REPS), || a.clone().matmul(b.clone()), wait);
    print_way(workplace.label, SMALL, "no sync", &returned);
    print_way(workplace.label, SMALL, "with sync", &ready);
    let of_size: [Param; 1] = [("size", SMALL.into())];
    let steady = Series::of("matmul", Phase::Steady, 1, &of_size);
    report.record(Series { scope: Scope::Call, ..steady }, &returned);
    report.record(steady, &ready);

    for size in IN_A_ROW {
        let (a, b) = operands(size, device);
        device.sync()?;
        let mut kept = Vec::with_capacity(REPS);
        let returned = time_then(report.reps(REPS), || a.clone().matmul(b.clone()), |product| kept.push(product));
        print_way(workplace.label, size, "no sync, in a row", &returned);
        let of_size: [Param; 1] = [("size", size.into())];
        let unwaited = Series::of("matmul-in-a-row", Phase::Steady, 0, &of_size);
        report.record(Series { scope: Scope::Call, ..unwaited }, &returned);
        if size == LARGE {
            mem::forget(kept); // letting go of them could have them done
        } else {
            device.sync()?;
        }
    }
    Ok(())
}

/// Windows on the device's clock: those that read a time, and how many read none. None where the device has no clock of its own.
///
/// Each product is kept until a sync: what is left in the queue when a window closes is done all the same.
fn profile(reps: usize, flush: bool, device: &Device, a: &Tensor<2>, b: &Tensor<2>) -> Option<(Timing, usize)> {
    let (mut times, mut own_clock) = (Vec::with_capacity(reps), true);
    // --8<-- [start:device]
    let options = if flush { ProfileOptions::default().flush() } else { ProfileOptions::default() };
    let window = || device.profile_with(options, || a.clone().matmul(b.clone())).expect("the device is alive");
    let around = time_then(reps, window, |(product, window)| {
        own_clock &= window.timing_method() == TimingMethod::Device;
        times.push(read_sync(window.resolve()).map(|ticks| ticks.duration()));
        device.sync().expect("the device is alive");
        drop(product);
    });
    // --8<-- [end:device]
    let samples: Vec<Duration> = times.into_iter().flatten().filter(|time| !time.is_zero()).collect();
    let empty = reps - samples.len();
    own_clock.then_some((Timing { samples, cores: around.cores }, empty))
}

/// Bringing up the device, the first matmul of a process, and the ones after it.
fn first(report: &mut Report) -> Outcome {
    let cache = report.option("--cache", Cache::Cold, "cold、warm 或 elsewhere", Cache::read);
    let mut workplace = Workplace::new(report, cache)?;
    let mut brought_up = None;
    // --8<-- [start:init]
    let init = time_then(
        1,
        || {
            let device = (workplace.open)();
            drop(Tensor::<1>::from_data([0.0_f32], &device)); // until then nothing has happened
            device.sync().expect("the device comes up");
            device
        },
        |device| brought_up = Some(device),
    );
    // --8<-- [end:init]
    let device = brought_up.ok_or("没有设备")?;
    let (a, b) = operands(SIZE, &device);
    device.sync()?;
    let launch = || a.clone().matmul(b.clone());
    let wait = |_: &Tensor<2>| device.sync().expect("the device is alive");
    let (returned, ready) = time_launch(1, launch, wait);
    say!("{}: device init {:.3?}", workplace.label, init.samples[0]);
    print_first(workplace.label, &returned, &ready);
    let (_, steady) = time_launch(report.reps(REPS), launch, wait);
    print_way(workplace.label, SIZE, "with sync", &steady);

    let of_size: [Param; 1] = [("size", SIZE.into())];
    let of_first = Series::of("matmul", Phase::First, 0, &of_size);
    report.record(Series::of("device-init", Phase::Init, 0, &[]), &init);
    report.record(Series { scope: Scope::Call, ..of_first }, &returned);
    report.record(of_first, &ready);
    report.record(Series::of("matmul", Phase::Steady, 1, &of_size), &steady);
    let product = launch();
    report.fact("matmul-max-error", largest_error(SIZE, &product)?);
    workplace.leave(report)?;
    workplace.facts(report, &device, product.dtype())
}

/// Does a warm-up help that nobody waits for? Its result is kept unread or dropped at once; then three runs are timed.
fn warm(report: &mut Report) -> Outcome {
    let kept = report.option("--kept", true, "yes 或 no", |text| match text {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    });
    let cache = report.option("--cache", Cache::Cold, "cold 或 warm", Cache::read);
    let mut workplace = Workplace::new(report, cache)?;
    let device = (workplace.open)();
    let (a, b) = operands(SIZE, &device);
    device.sync()?;
    let kind = if kept { "kept" } else { "dropped" };
    // --8<-- [start:warm-up]
    let warm_up = a.clone().matmul(b.clone()); // nobody waits for it, nobody reads it
    let kept = kept.then_some(warm_up);
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(time(1, || {
            let product = a.clone().matmul(b.clone());
            device.sync().expect("the device is alive");
            product
        }));
    }
    // --8<-- [end:warm-up]
    drop(kept);
    for (run, timing) in runs.iter().enumerate() {
        say!("warm-up {kind}, timed run {run}: after sync {:.3?}", timing.samples[0]);
        let of_run: [Param; 1] = [("run", run.into())];
        report.record(Series::of("timed-run", Phase::First, 1, &of_run), timing);
    }
    let product = a.matmul(b);
    report.fact("matmul-max-error", largest_error(SIZE, &product)?);
    workplace.leave(report)?;
    workplace.facts(report, &device, product.dtype())
}

/// What a process leaves in the cache for the next: the child of a `warm` run. It reports nothing.
fn fill(report: &mut Report) -> Outcome {
    let device = choose(report).1();
    let (a, b) = operands(SIZE, &device);
    largest_error(SIZE, &a.matmul(b))?;
    Ok(())
}

/// How far results are from float64, and digests by which they can be compared to the bit.
fn agree(report: &mut Report) -> Outcome {
    let workplace = Workplace::new(report, Cache::Cold)?;
    let device = (workplace.open)();
    let square = [AGREE_SIZE, AGREE_SIZE];
    let [stored_a, stored_b] = STORED.map(from_bytes);
    let [a, b] = [&stored_a, &stored_b].map(|values| Tensor::<2>::from_data(TensorData::new(values.clone(), square), &device));
    let reference = product_in_f64(&widen(&stored_a), &widen(&stored_b));

    let product = a.clone().matmul(b.clone());
    let result = numbers(&product)?;
    let error = distance(&result, &reference);
    require(error)?;
    let wait = |_: &Tensor<2>| device.sync().expect("the device is alive");
    let (_, timing) = time_launch(report.reps(REPS), || a.clone().matmul(b.clone()), wait);
    print_way(workplace.label, AGREE_SIZE, "with sync", &timing);
    report.record(Series::of("matmul-256", Phase::Steady, 1, &[]), &timing);
    say!("{:<20} max|x - f64 ref| = {}", format!("burn {}", workplace.label), exponent(error));

    let sum = a.clone().sum().into_scalar::<f32>();
    let exponentials = numbers(&a.clone().exp())?;
    report.fact("max-error", error);
    report.fact("reference-max", largest(reference.iter().copied()));
    report.fact("sum-error", (f64::from(sum) - widen(&stored_a).iter().sum::<f64>()).abs());
    let exact: Vec<f64> = widen(&stored_a).into_iter().map(f64::exp).collect();
    report.fact("elementwise-error", distance(&exponentials, &exact));
    report.fact("result-sha256", digest(&result));
    report.fact("sum-bits", format!("{:08x}", sum.to_bits()));
    report.fact("elementwise-sha256", digest(&exponentials));
    report.fact("input-sha256", format!("{:x}", Sha256::digest(STORED.concat())));

    // Once more from k alone: what the library's own sine adds to the error, beside what its order of summation does.
    let counts = Tensor::<1, Int>::arange(0..i64::try_from(AGREE_SIZE * AGREE_SIZE)?, &device).float().reshape(square);
    let (own_a, own_b) = (counts.clone().sin(), counts.cos());
    let own_result = numbers(&own_a.clone().matmul(own_b.clone()))?;
    let own = [numbers(&own_a)?, numbers(&own_b)?];
    let exact = [f64::sin as fn(f64) -> f64, f64::cos].map(|function| sequence(AGREE_SIZE, function));
    let true_product = product_in_f64(&exact[0], &exact[1]);
    let input_error = distance(&own[0], &exact[0]).max(distance(&own[1], &exact[1]));
    report.fact("own-input-error", input_error);
    report.fact("own-input-sha256", digest(&own.concat()));
    report.fact("max-error-own-inputs", distance(&own_result, &true_product));
    let share = product_in_f64(&widen(&own[0]), &widen(&own[1]));
    report.fact("max-error-of-own-inputs", largest(share.iter().zip(&true_product).map(|(x, y)| x - y)));
    workplace.facts(report, &device, product.dtype())
}

// ---- where it runs

/// What is in the cache of an accelerator when the process starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cache {
    Cold,
    Warm,
    /// Another process filled one, in another folder.
    Elsewhere,
}

impl Cache {
    fn read(text: &str) -> Option<Self> {
        match text {
            "cold" => Some(Self::Cold),
            "warm" => Some(Self::Warm),
            "elsewhere" => Some(Self::Elsewhere),
            _ => None,
        }
    }
}

/// A device not yet brought up, and a folder of this run alone. burn keeps its cache beside the outermost `Cargo.toml` above the
/// working directory, so an empty one there keeps it inside.
struct Workplace {
    root: PathBuf,
    device: &'static str,
    open: fn() -> Device,
    label: &'static str,
    before: Vec<String>,
    decided_before: usize,
}

/// Where the tuner writes down what it decided, and which settings make it do so.
const DECISIONS: &str = "autotune.jsonl";
const SETTINGS: &str = "[autotune.decisions]\nfile = \"autotune.jsonl\"\n";

impl Workplace {
    fn new(report: &Report, cache: Cache) -> Outcome<Self> {
        let (device, open) = choose(report);
        let root = env::temp_dir().join(format!("{}-{}", env!("CARGO_PKG_NAME"), process::id()));
        let mut workplace = Self { root, device, open, label: label(device), before: Vec::new(), decided_before: 0 };
        if workplace.root.ancestors().any(|folder| folder.join("Cargo.toml").exists()) {
            return Err("临时文件夹在一个 Cargo 工程里面，缓存会落到那个工程；把 TMPDIR 设到别处".into());
        }
        let (here, there) = (workplace.project("here")?, workplace.project("elsewhere")?);
        if cache != Cache::Cold {
            let folder = if cache == Cache::Warm { &here } else { &there };
            let filled = Command::new(env::current_exe()?)
                .args(["fill", "--device", device])
                .current_dir(folder)
                .env_remove("MEASURE_OUT")
                .stdout(Stdio::null())
                .status()?;
            if !filled.success() || entries(folder)?.is_empty() {
                return Err(format!("先跑的那个进程没有留下缓存（{filled}）；{device} 没有缓存，或者写不了").into());
            }
        }
        env::set_current_dir(&here)?; // before burn reads its settings
        workplace.before = entries(&here)?;
        workplace.decided_before = decisions(&here)?.len();
        if (cache == Cache::Warm) == workplace.before.is_empty() {
            return Err(format!("缓存里有 {} 个文件，和要的 {cache:?} 不符", workplace.before.len()).into());
        }
        Ok(workplace)
    }

    fn on_cpu(&self) -> bool {
        ON_CPU.contains(&self.device)
    }

    fn project(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.root.join(name);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("Cargo.toml"), "")?;
        fs::write(folder.join("cubecl.toml"), SETTINGS)?;
        Ok(folder)
    }

    /// What the cache holds now beside what it held before, and the kernel that was chosen for the matmul.
    fn leave(&mut self, report: &mut Report) -> Outcome {
        let here = self.root.join("here");
        let after = entries(&here)?;
        report.fact("cache-entries-before", self.before.len());
        report.fact("cache-entries-after", after.len());
        report.fact("cache-entries-elsewhere", entries(&self.root.join("elsewhere"))?.len());
        report.fact("cache-files-before", listing(&self.before));
        report.fact("cache-files-after", listing(&after));
        let decided = decisions(&here)?;
        report.fact("autotune-decisions", decided.len() - self.decided_before);
        if let Some(kernel) = decided.last() {
            report.fact("kernel", kernel.as_str());
        }
        Ok(())
    }

    /// What every mode says of where it ran.
    fn facts(&self, report: &mut Report, device: &Device, dtype: DType) -> Outcome {
        report.fact("device", if self.on_cpu() { "cpu" } else { self.device });
        if self.on_cpu() {
            report.fact("threads", threads());
        }
        #[cfg(any(feature = "cuda", feature = "metal", feature = "vulkan", feature = "wgpu"))]
        if let Some(identity) = device.identity() {
            report.fact("adapter", identity.name);
            report.fact("compiles-for", identity.fingerprint);
            report.fact("software", identity.physical.is_none());
        }
        if *device != (self.open)() || dtype != DType::F32 {
            return Err(format!("结果是 {dtype:?}，在 {device:?} 上，不是 {} 上的 f32", self.device).into());
        }
        report.fact("dtype", dtype.name());
        report.fact("version-burn", burn_version()?);
        Ok(())
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.root) {
            eprintln!("临时文件夹 {} 删不掉：{error}", self.root.display());
        }
    }
}

/// The device that the command line names.
fn choose(report: &Report) -> Named {
    let names: Vec<&str> = DEVICES.iter().map(|&(name, _)| name).collect();
    let find = |text: &str| DEVICES.iter().copied().find(|&(name, _)| name == text);
    report.option("--device", DEVICES[0], &names.join("、"), find)
}

/// How lines name the device; builds of Flex are told apart.
fn label(device: &'static str) -> &'static str {
    match (device, env!("CARGO_PKG_NAME")) {
        ("flex", "exec-cpu") => "flex(template)",
        ("flex", "exec-amx") => "flex+apple-amx",
        ("flex", "exec-x86v4") => "flex+x86-v4",
        _ => device,
    }
}

/// The files of the cache that belongs to a folder, with their sizes.
fn entries(project: &Path) -> Outcome<Vec<String>> {
    let folder = project.join("target").join("environment");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        found.push(format!("{} ({} bytes)", entry.file_name().display(), entry.metadata()?.len()));
    }
    found.sort();
    Ok(found)
}

fn listing(files: &[String]) -> String {
    if files.is_empty() { "none".to_owned() } else { files.join(", ") }
}

/// The kernels that the tuner chose in a folder, in order.
fn decisions(project: &Path) -> Outcome<Vec<String>> {
    let file = project.join(DECISIONS);
    if !file.exists() {
        return Ok(Vec::new());
    }
    fs::read_to_string(file)?.lines().map(|line| fastest(&serde_json::from_str(line)?)).collect()
}

/// The name of the candidate that a decision of the tuner chose; it lists the fastest first.
fn fastest(decision: &Value) -> Outcome<String> {
    let name = decision.pointer("/results/0/outcome/Ok/name").and_then(Value::as_str);
    Ok(name.ok_or("调优的记录变了样，读不出选中的内核")?.to_owned())
}

/// The exact version that this crate's Cargo.toml asks for.
fn burn_version() -> Outcome<&'static str> {
    let manifest = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    let version = manifest.split_once("burn = { version = \"=").and_then(|(_, rest)| rest.split_once('"'));
    Ok(version.ok_or("Cargo.toml 里没有 burn = { version = \"=…\" 这一行；版本要写死")?.0)
}

// ---- numbers

/// `f(k)` for k = 0, 1, … in a square matrix, row after row.
fn sequence(size: usize, function: impl Fn(f64) -> f64) -> Vec<f64> {
    (0..size * size).map(|k| function(k as f64)).collect()
}

/// sin(k) and cos(k), worked out in f64 and rounded once.
fn operands(size: usize, device: &Device) -> (Tensor<2>, Tensor<2>) {
    #[allow(clippy::cast_possible_truncation)] // that is the rounding
    let round = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect::<Vec<_>>();
    let tensor = |values| Tensor::from_data(TensorData::new(round(values), [size, size]), device);
    (tensor(sequence(size, f64::sin)), tensor(sequence(size, f64::cos)))
}

fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|&number| f32::from_le_bytes(number)).collect()
}

fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

/// Row-major numbers of a tensor, out of burn's hands. Another dtype is an error.
fn numbers(tensor: &Tensor<2>) -> Outcome<Vec<f32>> {
    tensor.clone().into_data().try_to_vec::<f32>().map_err(|error| format!("不是 f32 的张量：{error:?}").into())
}

fn digest(values: &[f32]) -> String {
    format!("{:x}", Sha256::digest(values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()))
}

/// The product of two square matrices, row-major, by its definition.
fn product_in_f64(left: &[f64], right: &[f64]) -> Vec<f64> {
    let size = left.len().isqrt();
    let entry = |at: usize| (0..size).map(|k| left[at / size * size + k] * right[k * size + at % size]).sum();
    (0..size * size).map(entry).collect()
}

/// The largest difference of two arrays. NaN counts as the largest.
fn distance(values: &[f32], reference: &[f64]) -> f64 {
    largest(values.iter().zip(reference).map(|(&value, exact)| f64::from(value) - exact))
}

/// Largest error of a product of `operands`, over every 997th entry. One above the tolerance is an error.
fn largest_error(size: usize, product: &Tensor<2>) -> Outcome<f64> {
    let (a, b, product) = (sequence(size, f64::sin), sequence(size, f64::cos), numbers(product)?);
    let difference = |at: usize| {
        let exact: f64 = (0..size).map(|k| a[at / size * size + k] * b[k * size + at % size]).sum();
        f64::from(product[at]) - exact
    };
    require(largest((0..size * size).step_by(997).map(difference)))
}

fn require(error: f64) -> Outcome<f64> {
    // In the total order NaN is above all numbers, so that it cannot hide.
    if error.total_cmp(&TOLERANCE).is_lt() {
        Ok(error)
    } else {
        Err(format!("矩阵乘的结果不对，和 f64 参照相差 {error:.3e}；不报时间").into())
    }
}

// ---- lines

fn print_way(device: &str, size: usize, way: &str, timing: &Timing) {
    let [min, median] = [0.0, 0.5].map(|share| Duration::from_secs_f64(timing.quantile(share) / 1e3));
    say!("{device} {size}x{size} matmul {way}, {} runs: min {min:.3?} median {median:.3?}", timing.samples.len());
}

fn print_first(device: &str, returned: &Timing, ready: &Timing) {
    let [returned, ready] = [returned, ready].map(|timing| timing.samples[0]);
    say!("{device} {SIZE}x{SIZE} matmul first call: returned {returned:.3?}, after sync {ready:.3?}");
}

/// A number as Python prints it, as the other programs do: `2.227e-06`.
fn exponent(value: f64) -> String {
    let text = format!("{value:.3e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{digits}e{:+03}", power.parse::<i32>().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_inputs_are_sines_and_cosines_row_by_row() {
        let [a, b] = STORED.map(from_bytes);
        assert_eq!(a.len(), AGREE_SIZE * AGREE_SIZE);
        for (at, value) in [(0, 0.0), (1, 0.841_470_98), (256, -0.999_208)] {
            assert!((a[at] - value).abs() < 1e-6, "{at}: {}", a[at]);
        }
        assert!((b[1] - 0.540_302_3).abs() < 1e-6 && (b[0] - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_transposed_operand_is_a_wrong_product() {
        let device = Device::flex();
        let (a, b) = operands(64, &device);
        assert!(largest_error(64, &a.clone().matmul(b.clone())).expect("this one is right") < 1e-4);
        assert!(largest_error(64, &a.clone().matmul(b.clone().transpose())).is_err());
        assert!(largest_error(64, &a.transpose().matmul(b)).is_err());
    }

    #[test]
    fn not_a_number_is_not_right() {
        assert!(require(f64::NAN).is_err());
        assert!(distance(&[0.0, f32::NAN, 1.0], &[0.0, 0.0, 0.0]).is_nan());
    }

    #[test]
    fn products_by_definition() {
        assert_eq!(product_in_f64(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]), [19.0, 22.0, 43.0, 50.0]);
    }

    #[test]
    fn the_fastest_candidate_comes_first() {
        let decision = |results| serde_json::json!({"fastest_index": 4, "results": results});
        let measured = serde_json::json!([{"outcome": {"Ok": {"name": "unit", "index": 4}}}, {"outcome": {"Err": "Skip"}}]);
        assert_eq!(fastest(&decision(measured)).expect("it has a name"), "unit");
        assert!(fastest(&decision(serde_json::json!([{"outcome": {"Err": "Skip"}}]))).is_err());
    }

    #[test]
    fn exponents_are_written_as_in_python() {
        assert_eq!(exponent(2.227e-6), "2.227e-06");
        assert_eq!(exponent(0.0), "0.000e+00");
        assert_eq!(exponent(1.5e-10), "1.500e-10");
    }
}

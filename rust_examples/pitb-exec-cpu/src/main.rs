//! A square matmul, a training step of a small MLP, and the matmuls of that step alone, on burn's Flex device.
//!
//! Five crates build this one file; they differ only in the Cargo features of burn. Each result is checked against plain
//! loops in f64 before it is timed.

use std::process::ExitCode;

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Int, Tensor, TensorData, activation::relu};
use measure::{Report, Series, doubling, threads, time};

const SIZE: usize = 1024;
const BATCH: usize = 256;
const INPUTS: usize = 784;
const HIDDEN: usize = 512;
const CLASSES: usize = 10;
const LEARNING_RATE: f64 = 0.1;
const REPS: usize = 20;
const CHECK_REPS: usize = 5;

/// An entry sums up to 1024 products below 1: in f32 it is off by far less than this, in TF32 or bf16 by more.
const MATMUL_TOLERANCE: f64 = 1e-2;
const LOSS_TOLERANCE: f64 = 1e-4;

fn main() -> ExitCode {
    let program = env!("CARGO_PKG_NAME");
    let mut report = Report::start(program);
    if let Err(problem) = run(&mut report) {
        eprintln!("{program}：{problem}");
        return ExitCode::FAILURE;
    }
    report.finish();
    ExitCode::SUCCESS
}

fn run(report: &mut Report) -> Result<(), String> {
    matmul(report)?;
    train_step(report)?;
    mlp_matmuls(report)?;
    report.fact("threads", threads());
    report.fact("version-burn", burn_version()?);
    Ok(())
}

/// The product of two square matrices. Its dtype, device and error are facts of the run.
fn matmul(report: &mut Report) -> Result<(), String> {
    let (device, reps) = (Device::flex(), report.reps(REPS));
    // --8<-- [start:matmul]
    let a = random([SIZE, SIZE], 1, &device);
    let b = random([SIZE, SIZE], 2, &device);
    // Reading the first product back to check it ends the warm-up.
    let product = a.clone().matmul(b.clone());
    let error = largest_error(&a, &b, &product)?;
    let mut work = || {
        let product = a.clone().matmul(b.clone());
        device.sync().expect("the device is alive");
        product
    };
    let timing = time(reps, &mut work);
    // --8<-- [end:matmul]
    report.fact("matmul-doubling", doubling(report.reps(CHECK_REPS), work, |last| drop(last.into_data()))?);
    let place = product.device();
    require(place == Device::flex(), || format!("结果在 {place:?} 上，不在 Flex（CPU）上；不报时间"))?;
    report.series(Series::steady("matmul", "1024x1024 matmul", 1), &timing);
    report.fact("dtype", product.dtype().name());
    report.fact("device", "cpu");
    report.fact("matmul-max-error", error);
    Ok(())
}

/// Two linear layers with a rectifier between them.
#[derive(Module, Debug)]
struct Mlp {
    hidden: Linear,
    output: Linear,
}

impl Mlp {
    fn new(device: &Device) -> Self {
        Self { hidden: LinearConfig::new(INPUTS, HIDDEN).init(device), output: LinearConfig::new(HIDDEN, CLASSES).init(device) }
    }

    fn forward(&self, images: Tensor<2>) -> Tensor<2> {
        self.output.forward(relu(self.hidden.forward(images)))
    }
}

/// Forward, cross entropy, backward, SGD, on one fixed batch.
fn train_step(report: &mut Report) -> Result<(), String> {
    let (device, reps) = (Device::flex().autodiff(), report.reps(REPS));
    device.seed(0);
    let images = random([BATCH, INPUTS], 3, &device);
    let labels: Vec<usize> = (0..BATCH).map(|i| i * 7 % CLASSES).collect();
    let classes = labels.iter().map(|&label| i64::try_from(label).expect("ten classes")).collect::<Vec<_>>();
    let classes = Tensor::<1, Int>::from_data(TensorData::new(classes, [BATCH]), &device);
    let cross_entropy = CrossEntropyLossConfig::new().init(&device);
    let loss_of = |model: &Mlp| cross_entropy.forward(model.forward(images.clone()), classes.clone());
    let read = |loss: Tensor<1>| f64::from(loss.into_scalar::<f32>());

    let model = Mlp::new(&device);
    let (untrained, expected) = (read(loss_of(&model)), loss_in_f64(&model, &images, &labels)?);
    let error = (untrained - expected).abs();
    require(error < LOSS_TOLERANCE, || format!("第一步的损失是 {untrained}，f64 参照是 {expected}；不报时间"))?;
    // --8<-- [start:step]
    let mut sgd = SgdConfig::new().init();
    let mut step = |model: Mlp| {
        let loss = loss_of(&model);
        let grads = loss.backward();
        let grads = GradientsParams::from_grads(grads, &model);
        sgd.step(LEARNING_RATE, model, grads)
    };
    let model = (0..3).fold(model, |model, _| step(model));
    let warm = read(loss_of(&model)); // a read-back ends the warm-up
    let mut model = Some(model);
    let timing = time(reps, || {
        model = model.take().map(&mut step);
        device.sync().expect("the device is alive");
    });
    // --8<-- [end:step]
    require(warm < untrained, || format!("三步之后损失没有下降：{untrained} → {warm}；不报时间"))?;
    report.series(Series::steady("train-step", "MLP 784-512-10 batch 256 train step", 3), &timing);
    report.fact("step-loss-error", error);
    Ok(())
}

/// Two products forward and three backward, in the shapes of the training step and with nothing between them.
///
/// There is no third one backward through the first layer: nobody asks for the gradient of the images.
fn mlp_matmuls(report: &mut Report) -> Result<(), String> {
    let device = Device::flex();
    let (images, w1) = (random([BATCH, INPUTS], 4, &device), random([INPUTS, HIDDEN], 5, &device));
    let (hidden, w2) = (random([BATCH, HIDDEN], 6, &device), random([HIDDEN, CLASSES], 7, &device));
    let (d_hidden, d_logits) = (random([BATCH, HIDDEN], 8, &device), random([BATCH, CLASSES], 9, &device));
    let pairs = [
        (images.clone(), w1),
        (hidden.clone(), w2.clone()),
        (hidden.transpose(), d_logits.clone()),
        (d_logits, w2.transpose()),
        (images.transpose(), d_hidden),
    ];
    let work = || {
        let products = pairs.each_ref().map(|(left, right)| left.clone().matmul(right.clone()));
        device.sync().expect("the device is alive");
        products
    };
    for ((left, right), product) in pairs.iter().zip(work()) {
        largest_error(left, right, &product)?;
    }
    for _ in 0..2 {
        drop(work());
    }
    let timing = time(report.reps(REPS), work);
    report.series(Series::steady("mlp-matmuls", "MLP 784-512-10 batch 256 matmuls", 3), &timing);
    Ok(())
}

fn require(good: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if good { Ok(()) } else { Err(wrong()) }
}

/// The exact version that this crate's Cargo.toml asks for.
fn burn_version() -> Result<&'static str, String> {
    let manifest = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    let version = manifest.split_once("burn = { version = \"=").and_then(|(_, rest)| rest.split_once('"'));
    let (version, _) = version.ok_or("Cargo.toml 里没有 burn = { version = \"=…\" 这一行；版本要写死")?;
    Ok(version)
}

/// Numbers in [0, 1) that are the same in every build: `SplitMix64` of Steele, Lea and Flood (2014).
#[allow(clippy::cast_possible_truncation)] // 24 bits are exactly an f32
fn random(shape: [usize; 2], seed: u64, device: &Device) -> Tensor<2> {
    let mut state = seed;
    let draw = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 24) as f32
    };
    let values: Vec<f32> = std::iter::repeat_with(draw).take(shape[0] * shape[1]).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Row-major numbers of a tensor, out of burn's hands.
fn numbers<const D: usize>(tensor: &Tensor<D>) -> Result<Vec<f64>, String> {
    let values = tensor.clone().into_data().try_to_vec::<f32>().map_err(|error| format!("不是 f32 的张量：{error:?}"))?;
    Ok(values.into_iter().map(f64::from).collect())
}

/// Largest difference between a product and the plain sum, over every 97th entry. One above the tolerance is an error.
fn largest_error(left: &Tensor<2>, right: &Tensor<2>, product: &Tensor<2>) -> Result<f64, String> {
    let ([rows, inner], [_, columns]) = (left.dims(), right.dims());
    let (left, right, product) = (numbers(left)?, numbers(right)?, numbers(product)?);
    let difference = |at: usize| {
        let (row, column) = (at / columns, at % columns);
        let exact: f64 = (0..inner).map(|k| left[row * inner + k] * right[k * columns + column]).sum();
        (product[at] - exact).abs()
    };
    // In the total order NaN is above all numbers, so that it cannot hide.
    let error = (0..rows * columns).step_by(97).map(difference).max_by(f64::total_cmp).unwrap_or(f64::NAN);
    let wrong = || format!("{rows}x{inner} 乘 {inner}x{columns} 的结果不对，和 f64 参照相差 {error:.3e}；不报时间");
    require(error < MATMUL_TOLERANCE, wrong)?;
    Ok(error)
}

/// Mean cross entropy of the model from its definition, without the modules that are timed.
fn loss_in_f64(model: &Mlp, images: &Tensor<2>, labels: &[usize]) -> Result<f64, String> {
    let (hidden, output) = (layer_in_f64(&model.hidden)?, layer_in_f64(&model.output)?);
    let images = numbers(images)?;
    let losses = images.chunks(INPUTS).zip(labels).map(|(image, &label)| {
        let active: Vec<f64> = hidden(image).into_iter().map(|value| value.max(0.0)).collect();
        let logits = output(&active);
        logits.iter().map(|logit| logit.exp()).sum::<f64>().ln() - logits[label]
    });
    Ok(losses.sum::<f64>() / labels.len() as f64)
}

/// A linear layer as a plain function of one input row.
fn layer_in_f64(layer: &Linear) -> Result<impl Fn(&[f64]) -> Vec<f64>, String> {
    let bias = layer.bias.as_ref().ok_or("这一层没有偏置，参照算不了")?;
    let (weight, bias) = (numbers(&layer.weight.val())?, numbers(&bias.val())?);
    Ok(move |input: &[f64]| {
        let mut sums = bias.clone();
        for (value, row) in input.iter().zip(weight.chunks(bias.len())) {
            sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += value * weight);
        }
        sums
    })
}

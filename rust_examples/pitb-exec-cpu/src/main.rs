//! A matmul and a training step in burn on the Flex device.
//!
//! Five crates build this one file; they differ only in the Cargo features of burn. Every result is checked against plain
//! loops in double precision before anything is timed.

use std::process::ExitCode;

use burn::module::Module;
use burn::nn::loss::{CrossEntropyLoss, CrossEntropyLossConfig};
use burn::nn::{Linear, LinearConfig};
use burn::optim::{GradientsParams, ModuleOptimizer, SgdConfig};
use burn::tensor::{Device, Int, Tensor, TensorData, activation::relu};
use measure::{Phase, Report, Scope, Series, time};

const N: usize = 1024;
const BATCH: usize = 256;
const INPUT: usize = 784;
const HIDDEN: usize = 512;
const CLASSES: usize = 10;
const LEARNING_RATE: f64 = 0.05;
const REPS: usize = 20;
const WARM_UP: usize = 3;

/// Two layers with a rectifier between them.
#[derive(Module, Debug)]
struct Mlp {
    hidden: Linear,
    output: Linear,
}

impl Mlp {
    fn new(device: &Device) -> Self {
        Self { hidden: LinearConfig::new(INPUT, HIDDEN).init(device), output: LinearConfig::new(HIDDEN, CLASSES).init(device) }
    }

    fn forward(&self, images: Tensor<2>) -> Tensor<2> {
        self.output.forward(relu(self.hidden.forward(images)))
    }
}

fn main() -> ExitCode {
    let mut report = Report::start(env!("CARGO_PKG_NAME"));
    let checked = matmul(&mut report).and_then(|()| train_step(&mut report)).and_then(|()| mlp_matmuls(&mut report));
    if let Err(problem) = checked {
        eprintln!("{}：{problem}", env!("CARGO_PKG_NAME"));
        return ExitCode::FAILURE;
    }
    report.fact("threads", measure::threads());
    report.fact("version-burn", "0.22.1");
    if let Err(problem) = report.finish() {
        eprintln!("{}：写不进 MEASURE_OUT：{problem}", env!("CARGO_PKG_NAME"));
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn matmul(report: &mut Report) -> Result<(), String> {
    let device = Device::flex();
    let (left, right) = (uniform(N * N, 1), uniform(N * N, 2));
    let a = Tensor::<2>::from_data(TensorData::new(left.clone(), [N, N]), &device);
    let b = Tensor::<2>::from_data(TensorData::new(right.clone(), [N, N]), &device);

    let product = a.clone().matmul(b.clone());
    report.fact("device", device_kind(&product.device())?);
    let product = product.into_data();
    report.fact("dtype", product.dtype().name());
    let product: Vec<f32> = product.try_to_vec().map_err(|e| format!("结果不是 f32：{e:?}"))?;
    let error = largest_error(&left, &right, &product);
    report.fact("matmul-max-error", error);
    if error > 1e-3 {
        return Err(format!("matmul 和双精度参考差 {error:e}"));
    }

    let reps = report.reps(REPS);
    // --8<-- [start:matmul]
    for _ in 0..WARM_UP {
        let _ = a.clone().matmul(b.clone()).into_data();
    }
    let samples = time(reps, || {
        let product = a.clone().matmul(b.clone());
        device.sync().expect("the CPU device syncs");
        product
    });
    // --8<-- [end:matmul]
    report.series(steady("matmul", "1024x1024 matmul", false), &samples);
    Ok(())
}

fn train_step(report: &mut Report) -> Result<(), String> {
    let device = Device::flex().autodiff();
    let pixels = uniform(BATCH * INPUT, 3);
    let labels: Vec<i64> = (0..BATCH as i64).map(|i| i * 7 % CLASSES as i64).collect();
    let images = Tensor::<2>::from_data(TensorData::new(pixels.clone(), [BATCH, INPUT]), &device);
    let targets = Tensor::<1, Int>::from_data(TensorData::new(labels.clone(), [BATCH]), &device);
    let loss = CrossEntropyLossConfig::new().init(&device);
    let mut model = Mlp::new(&device);
    let mut optimizer = SgdConfig::new().init();

    let computed = f64::from(loss.forward(model.forward(images.clone()), targets.clone()).into_scalar::<f32>());
    let expected = reference_loss(&model, &pixels, &labels)?;
    let error = (computed - expected).abs();
    report.fact("step-loss-error", error);
    if error > 1e-4 {
        return Err(format!("第一步的损失是 {computed}，双精度参考是 {expected}"));
    }

    for _ in 0..WARM_UP {
        model = step(model, &mut optimizer, &loss, &images, &targets);
    }
    let after = f64::from(loss.forward(model.forward(images.clone()), targets.clone()).into_scalar::<f32>());
    if after >= computed {
        return Err(format!("{WARM_UP} 步之后损失没有下降：{computed} → {after}"));
    }
    let reps = report.reps(REPS);
    let mut next = Some(model);
    let samples = time(reps, || {
        let model = next.take().expect("each step hands the model on");
        next = Some(step(model, &mut optimizer, &loss, &images, &targets));
        device.sync().expect("the CPU device syncs");
    });
    report.series(steady("train-step", "MLP 784-512-10 batch 256 train step", true), &samples);
    Ok(())
}

// --8<-- [start:step]
fn step(
    model: Mlp,
    optimizer: &mut ModuleOptimizer,
    loss: &CrossEntropyLoss,
    images: &Tensor<2>,
    targets: &Tensor<1, Int>,
) -> Mlp {
    let scores = model.forward(images.clone());
    let value = loss.forward(scores, targets.clone());
    let grads = GradientsParams::from_grads(value.backward(), &model);
    optimizer.step(LEARNING_RATE, model, grads)
}
// --8<-- [end:step]

/// The five products of one step, alone: two forward, and three backward, since the input needs no gradient.
fn mlp_matmuls(report: &mut Report) -> Result<(), String> {
    let device = Device::flex();
    let tensor = |rows: usize, columns: usize, seed: u64| {
        Tensor::<2>::from_data(TensorData::new(uniform(rows * columns, seed), [rows, columns]), &device)
    };
    let (x, w1, w2) = (tensor(BATCH, INPUT, 4), tensor(INPUT, HIDDEN, 5), tensor(HIDDEN, CLASSES, 6));
    let (h, dh, dy) = (tensor(BATCH, HIDDEN, 7), tensor(BATCH, HIDDEN, 8), tensor(BATCH, CLASSES, 9));
    let products = || {
        let forward = (x.clone().matmul(w1.clone()), h.clone().matmul(w2.clone()));
        let weights = (x.clone().transpose().matmul(dh.clone()), h.clone().transpose().matmul(dy.clone()));
        let inner = dy.clone().matmul(w2.clone().transpose());
        device.sync().expect("the CPU device syncs");
        (forward, weights, inner)
    };
    let shape = products().1.0.dims();
    if shape != [INPUT, HIDDEN] {
        return Err(format!("第一层权重的梯度是 {shape:?}"));
    }
    for _ in 0..WARM_UP {
        let _ = products();
    }
    let samples = time(report.reps(REPS), products);
    report.series(steady("mlp-matmuls", "MLP 784-512-10 batch 256 matmuls", true), &samples);
    Ok(())
}

fn steady<'a>(metric: &'a str, what: &'a str, say_warm_up: bool) -> Series<'a> {
    Series { metric, what, phase: Phase::Steady, scope: Scope::Ready, warm_up: WARM_UP, say_warm_up }
}

/// Where a tensor really lies, read back from it.
fn device_kind(device: &Device) -> Result<&'static str, String> {
    let name = format!("{device:?}");
    if name.contains("Flex") { Ok("cpu") } else { Err(format!("结果在 {name} 上，不在 Flex 上")) }
}

/// Numbers in [0, 1) that are the same in every build (SplitMix64, Steele, Lea and Flood 2014).
#[allow(clippy::cast_possible_truncation)] // 24 random bits are exactly an f32
fn uniform(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let draw = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 24) as f32
    };
    std::iter::repeat_with(draw).take(count).collect()
}

/// Largest difference, relative to the exact entry, over every 97th entry of the product.
fn largest_error(left: &[f32], right: &[f32], product: &[f32]) -> f64 {
    (0..N * N)
        .step_by(97)
        .map(|index| {
            let (row, column) = (index / N, index % N);
            let exact: f64 = (0..N).map(|k| f64::from(left[row * N + k]) * f64::from(right[k * N + column])).sum();
            ((f64::from(product[index]) - exact) / exact).abs()
        })
        .fold(0.0, f64::max)
}

/// Mean cross entropy of the model on the batch, by plain loops in double precision.
fn reference_loss(model: &Mlp, pixels: &[f32], labels: &[i64]) -> Result<f64, String> {
    let hidden = Layer::of(&model.hidden)?;
    let output = Layer::of(&model.output)?;
    let total: f64 = pixels
        .chunks(INPUT)
        .zip(labels)
        .map(|(image, &label)| {
            let image: Vec<f64> = image.iter().copied().map(f64::from).collect();
            let active: Vec<f64> = hidden.apply(&image).into_iter().map(|v| v.max(0.0)).collect();
            let scores = output.apply(&active);
            let largest = scores.iter().copied().fold(f64::MIN, f64::max);
            let log_sum = scores.iter().map(|s| (s - largest).exp()).sum::<f64>().ln() + largest;
            log_sum - scores[usize::try_from(label).expect("labels are classes")]
        })
        .sum();
    Ok(total / labels.len() as f64)
}

/// A linear layer's numbers, out of burn's hands.
struct Layer {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Layer {
    fn of(linear: &Linear) -> Result<Self, String> {
        let bias = linear.bias.as_ref().ok_or("这一层没有偏置")?;
        let read = |data: TensorData| data.try_to_vec::<f32>().map_err(|e| format!("参数不是 f32：{e:?}"));
        Ok(Self { weight: read(linear.weight.val().into_data())?, bias: read(bias.val().into_data())? })
    }

    fn apply(&self, input: &[f64]) -> Vec<f64> {
        let width = self.bias.len();
        (0..width)
            .map(|j| {
                input.iter().enumerate().map(|(i, x)| x * f64::from(self.weight[i * width + j])).sum::<f64>()
                    + f64::from(self.bias[j])
            })
            .collect()
    }
}

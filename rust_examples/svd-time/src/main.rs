//! One 256×256 SVD, U, S and Vᵀ all read back: of a matrix that TRG decomposes, and of a random one.
//!
//! `--width` is the engine's number of threads, `--hogs` how many processes keep cores busy.

use std::process::ExitCode;

use measure::{Hogs, Param, Phase, Report, Series, doubling, largest, milliseconds, program, say, time, time_then};
use sha2::{Digest, Sha256};
use tenferro_linalg::TracedTensorLinalgExt;
use tenferro_trg::stage::input;
use tenferro_trg::{Machine, Result, Tensor, observed};

const SIZE: usize = 256;
const REPS: usize = 30;
/// Of the self-check, which a busy machine would spoil.
const CHECK_REPS: usize = 5;
/// Singular values up to this count as zero.
const NEGLIGIBLE: f64 = 1e-12;
/// Largest departure from U S Vᵀ = A and from orthogonality, of matrices whose entries are below 1.
const TOLERANCE: f64 = 1e-11;

/// The stored inputs, the same bytes for every library: float64, little-endian, column after column.
const MATRICES: [(&str, &[u8]); 2] = [
    ("trg", include_bytes!("../../../measure/programs/inputs/svd-256-trg.f64")),
    ("random", include_bytes!("../../../measure/programs/inputs/svd-256-random.f64")),
];

fn main() -> ExitCode {
    program(env!("CARGO_PKG_NAME"), &["--width", "--hogs"], run)
}

fn run(report: &mut Report) -> Result<()> {
    let width = report.count("--width", 1);
    let busy = report.count("--hogs", 0);
    let hogs = Hogs::start(busy)?;
    // --8<-- [start:svd]
    let mut machine = Machine::new(width)?;
    let x = input(&[SIZE, SIZE])?;
    let (u, s, vt) = x.svd()?;
    let svd = machine.prepare(&[&x], &[&u, &s, &vt])?;
    // --8<-- [end:svd]
    for (name, bytes) in MATRICES {
        let (numbers, _) = bytes.as_chunks::<8>();
        let values: Vec<f64> = numbers.iter().map(|&number| f64::from_le_bytes(number)).collect();
        let matrix = Tensor::from_vec_col_major(vec![SIZE, SIZE], values.clone())?;

        let mut results = Vec::with_capacity(1);
        let first = time_then(1, || machine.run(&svd, &[&matrix]), |result| results.push(result));
        let found = Decomposition::of(&results.pop().ok_or("nothing was decomposed")??)?;
        let (reconstruction, orthogonality) = (found.reconstruction_error(&values), found.orthogonality_error());
        if largest([reconstruction, orthogonality]).total_cmp(&TOLERANCE).is_gt() {
            return Err(
                format!("{name}：U S Vᵀ 和原矩阵相差 {reconstruction:.3e}，正交性差 {orthogonality:.3e}；不报时间").into()
            );
        }
        let mut work = || machine.run(&svd, &[&matrix]).expect("it ran before");
        let steady = time(report.reps(REPS), &mut work);
        let doubled = if busy == 0 && width == 1 { Some(doubling(report.reps(CHECK_REPS), work, drop)?) } else { None };

        let (once, min, n) = (milliseconds(first.samples[0]), steady.quantile(0.0), steady.samples.len());
        let checksum = found.checksum();
        say!("tenferro native svd 256x256 width={width}: first {once:.3} ms, min of {n} {min:.3} ms (checksum {checksum:.6})");
        let params: [Param; 1] = [("matrix", name.into())];
        report.record(Series::of("svd", Phase::First, 0, &params), &first);
        report.record(Series::of("svd", Phase::Steady, 1, &params), &steady);
        if let Some(ratio) = doubled {
            report.fact_at("svd-doubling", &params, ratio);
        }
        report.fact_at("checksum", &params, checksum);
        report.bits_at("singular-sum", &params, found.s.iter().sum());
        report.fact_at("rank", &params, found.s.iter().filter(|&&value| value > NEGLIGIBLE).count());
        report.fact_at("reconstruction-error", &params, reconstruction);
        report.fact_at("orthogonality-error", &params, orthogonality);
        report.fact_at("input-sha256", &params, format!("{:x}", Sha256::digest(bytes)));
    }
    report.fact("hogs", hogs.stop()?);
    observed(report, &machine)
}

/// U, S, Vᵀ out of tenferro's hands, column-major.
struct Decomposition {
    u: Vec<f64>,
    s: Vec<f64>,
    vt: Vec<f64>,
}

impl Decomposition {
    fn of(tensors: &[Tensor]) -> Result<Self> {
        let numbers = |tensor: &Tensor| tensor.as_slice::<f64>().map(<[f64]>::to_vec);
        Ok(Self { u: numbers(&tensors[0])?, s: numbers(&tensors[1])?, vt: numbers(&tensors[2])? })
    }

    /// It depends on signs, and on the basis of the null space, which nothing determines.
    fn checksum(&self) -> f64 {
        self.u.iter().chain(&self.s).chain(&self.vt).sum()
    }

    /// Largest entry of U S Vᵀ − A.
    fn reconstruction_error(&self, matrix: &[f64]) -> f64 {
        let entry = |row: usize, column: usize| -> f64 {
            (0..SIZE).map(|k| self.u[row + SIZE * k] * self.s[k] * self.vt[k + SIZE * column]).sum()
        };
        largest(places().map(|(row, column)| entry(row, column) - matrix[row + SIZE * column]))
    }

    /// Largest entry of `UᵀU − 1` and of `VᵀV − 1`.
    fn orthogonality_error(&self) -> f64 {
        let identity = |row, column| if row == column { 1.0 } else { 0.0 };
        let u =
            |row: usize, column: usize| -> f64 { (0..SIZE).map(|k| self.u[k + SIZE * row] * self.u[k + SIZE * column]).sum() };
        let v =
            |row: usize, column: usize| -> f64 { (0..SIZE).map(|k| self.vt[row + SIZE * k] * self.vt[column + SIZE * k]).sum() };
        largest(places().flat_map(|(i, j)| [u(i, j), v(i, j)].map(|product| product - identity(i, j))))
    }
}

/// Every place in the matrix.
fn places() -> impl Iterator<Item = (usize, usize)> {
    (0..SIZE).flat_map(|row| (0..SIZE).map(move |column| (row, column)))
}

//! The graphs of TRG: the first tensor, one step, the trace at the end.
//!
//! A tensor `T[u,r,d,l]` sits on each vertex. A step writes it in two ways as a product of two three-legged tensors, by SVD, and
//! contracts four of these to the tensor of a lattice that is coarser by √2.

use tenferro_einsum::{TensorDotAxes, TracedTensorEinsumExt};
use tenferro_linalg::TracedTensorLinalgExt;
use tenferro_runtime::{SliceConfig, TracedTensor};

use crate::machine::Result;

/// How the four three-legged tensors of a step become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// ((A B) C) D
    Chain,
    /// (A B) (C D)
    Pairwise,
}

impl Order {
    /// Its name in records and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Pairwise => "pairwise",
        }
    }

    /// The order of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Chain, Self::Pairwise].into_iter().find(|order| order.name() == name)
    }
}

/// An input of a graph. Its zeros only stand for its shape: a graph of several outputs cannot be compiled with a placeholder
/// that has no data.
///
/// # Errors
///
/// tenferro cannot register it.
pub fn input(shape: &[usize]) -> Result<TracedTensor> {
    let zeros = vec![0.0_f64; shape.iter().product()];
    Ok(TracedTensor::from_vec_col_major(shape, zeros)?)
}

/// The vertex tensor at inverse temperature β: `T[u,r,d,l] = Σ W[s,u] W[s,r] W[s,d] W[s,l]`, where the rows of
/// W are (√cosh β, ±√sinh β).
///
/// # Errors
///
/// tenferro refuses a shape.
pub fn vertex(beta: &TracedTensor) -> Result<TracedTensor> {
    let constant = |values: [f64; 4]| TracedTensor::from_vec_col_major(vec![2, 2], values.to_vec());
    let (grown, shrunk) = (beta.exp()?, beta.neg()?.exp()?);
    let cosh = (&grown + &shrunk)?.scale_real(0.5)?;
    let sinh = (&grown - &shrunk)?.scale_real(0.5)?;
    let even = (&constant([1.0, 1.0, 0.0, 0.0])? * &cosh.sqrt()?)?;
    let odd = (&constant([0.0, 0.0, 1.0, -1.0])? * &sinh.sqrt()?)?;
    let bond = (&even + &odd)?; // [s, leg]
    let two = (&bond.broadcast_in_dim(&[2, 2, 2], &[0, 1])? * &bond.broadcast_in_dim(&[2, 2, 2], &[0, 2])?)?;
    dot(&two, &two, &[0], &[0])
}

/// A step: T → (T', ln ‖T‖).
///
/// # Errors
///
/// tenferro refuses a shape.
pub fn step(vertex: &TracedTensor, kept: usize, order: Order) -> Result<[TracedTensor; 2]> {
    let ([first, second], ln_norm) = matrices(vertex)?;
    let [s1, s3] = factors(&first.svd()?, kept)?;
    let [s2, s4] = factors(&second.svd()?, kept)?;
    Ok([contract(&[s1, s2, s3, s4], order)?, ln_norm])
}

/// The two matrices that a step decomposes, `M1[(u,l),(d,r)]` and `M2[(u,r),(d,l)]` of T/‖T‖, and ln ‖T‖ (Frobenius).
///
/// # Errors
///
/// tenferro refuses a shape.
pub fn matrices(vertex: &TracedTensor) -> Result<([TracedTensor; 2], TracedTensor)> {
    let squares = (vertex * vertex)?.reduce_sum(Some(&[0, 1, 2, 3]))?;
    let norm = squares.sqrt()?;
    let normed = (vertex / &norm)?;
    let rows = vertex.concrete_shape()?[0].pow(2);
    let matrix = |legs: &[usize]| normed.transpose(legs)?.reshape([rows, rows]);
    Ok(([matrix(&[0, 3, 2, 1])?, matrix(&[0, 1, 2, 3])?], norm.log()?))
}

/// U, S, Vᵀ with only the largest `kept` singular values, as two three-legged tensors that share √S.
///
/// # Errors
///
/// tenferro refuses a shape.
pub fn factors((u, s, vt): &(TracedTensor, TracedTensor, TracedTensor), kept: usize) -> Result<[TracedTensor; 2]> {
    let rows = u.concrete_shape()?[0];
    let leg = rows.isqrt();
    let root = first(s, &[rows], &[kept])?.sqrt()?.broadcast_in_dim(&[rows, kept], &[1])?;
    let left = (&first(u, &[rows, rows], &[rows, kept])? * &root)?;
    let right = (&first(vt, &[rows, rows], &[kept, rows])?.transpose(&[1, 0])? * &root)?;
    let legs = [leg, leg, kept];
    Ok([left.reshape(legs)?, right.reshape(legs)?])
}

/// `T'[a,b,c,d] = Σ S3[w,x,a] S4[y,x,b] S1[y,z,c] S2[w,z,d]`, summed over w, x, y, z.
///
/// # Errors
///
/// tenferro refuses a shape.
pub fn contract([s1, s2, s3, s4]: &[TracedTensor; 4], order: Order) -> Result<TracedTensor> {
    // --8<-- [start:contract]
    let upper = dot(s3, s4, &[1], &[1])?; // [w, a, y, b]
    match order {
        Order::Chain => {
            let three = dot(&upper, s1, &[2], &[0])?; // [w, a, b, z, c]
            dot(&three, s2, &[0, 3], &[0, 1])
        }
        Order::Pairwise => {
            let lower = dot(s1, s2, &[1], &[1])?; // [y, c, w, d]
            dot(&upper, &lower, &[0, 2], &[2, 0])
        }
    }
    // --8<-- [end:contract]
}

/// `ln Σ T[u,r,u,r]`: the lattice is one tensor now, and its opposite legs are joined.
///
/// # Errors
///
/// tenferro refuses a shape.
pub fn ln_trace(vertex: &TracedTensor) -> Result<TracedTensor> {
    let rows = vertex.concrete_shape()?[0].pow(2);
    let diagonal = vertex.reshape([rows, rows])?.extract_diag(0, 1)?;
    Ok(diagonal.reduce_sum(Some(&[0]))?.log()?)
}

/// Σ x·y over all entries: what turns a graph with a cotangent into a scalar that `grad` takes.
///
/// # Errors
///
/// The shapes differ.
pub fn inner(x: &TracedTensor, y: &TracedTensor) -> Result<TracedTensor> {
    let axes: Vec<usize> = (0..x.rank).collect();
    Ok((x * y)?.reduce_sum(Some(&axes))?)
}

/// Sum over pairs of legs; those of the left tensor come first in the result.
fn dot(left: &TracedTensor, right: &TracedTensor, lhs: &[isize], rhs: &[isize]) -> Result<TracedTensor> {
    Ok(left.tensordot(right, TensorDotAxes::Axes { lhs, rhs })?)
}

/// The leading entries along each axis of a tensor of known extents.
///
/// tenferro leaves the extents of an SVD's outputs open, and can differentiate a slice only of known ones; the reshape pins them.
fn first(tensor: &TracedTensor, extents: &[usize], limits: &[usize]) -> Result<TracedTensor> {
    let (starts, strides) = (vec![0; limits.len()], vec![1; limits.len()]);
    Ok(tensor.reshape(extents)?.slice(SliceConfig { starts, limits: limits.to_vec(), strides })?)
}

//! The tensor renormalization group (TRG) of the 2D Ising model in tenferro, cut into one small program per step shape.
//!
//! [`Machine`] is an engine with its runtime, [`stage`] holds the graphs, [`Trg`] runs them one after another, forward and back.

mod contraction;
pub mod ising;
mod machine;
mod pieces;
pub mod stage;
mod trg;
mod whole;

use measure::Report;

pub use contraction::Contraction;
pub use machine::{Machine, Program, Result};
pub use pieces::{Pieces, Spent};
pub use tenferro_runtime::{Tensor, TracedTensor};
pub use trg::Trg;
pub use whole::whole;

/// Facts that every program of tenferro tells: what the engine says of itself, and the version.
///
/// # Errors
///
/// The workspace does not name a version.
pub fn observed(report: &mut Report, machine: &Machine) -> Result<()> {
    report.fact("threads", machine.width());
    report.fact("dtype", "f64");
    report.fact("device", "cpu");
    report.fact("version-tenferro", version()?);
    Ok(())
}

/// The exact version of tenferro's crates that the workspace asks for.
///
/// # Errors
///
/// The workspace does not name one.
fn version() -> Result<&'static str> {
    let manifest = include_str!("../../Cargo.toml");
    let version = manifest.split_once("tenferro-runtime = \"=").and_then(|(_, rest)| rest.split_once('"'));
    let (version, _) = version.ok_or("Cargo.toml 里没有 tenferro-runtime = \"=…\" 这一行；版本要写死")?;
    Ok(version)
}

#[cfg(test)]
mod tests {
    /// With the newest compatible versions of its neighbours `threadteam` comes in twice and tenferro 0.8.0 does not compile.
    /// After a `cargo update`, set each back: `cargo update -p NAME --precise VERSION`.
    #[test]
    fn the_lock_keeps_the_neighbours_that_tenferro_was_released_with() {
        let lock = include_str!("../../Cargo.lock");
        let pins = [
            ("cpueinsum", "0.9.0"),
            ("tcontract", "0.9.0"),
            ("tcontract-exec", "0.9.0"),
            ("tcontract-kernel", "0.3.0"),
            ("tlinalg", "0.8.0"),
        ];
        for (name, version) in pins {
            assert!(lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n")), "{name} is not {version}");
        }
        assert_eq!(lock.matches("name = \"threadteam\"\n").count(), 1);
        assert_eq!(super::version().unwrap(), "0.8.0");
    }
}

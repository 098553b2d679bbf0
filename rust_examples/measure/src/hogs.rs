//! Processes that do nothing but keep cores busy: this program itself, started again.

use std::env;
use std::hint::spin_loop;
use std::io::{self, Read};
use std::process::{Child, Command, Stdio, exit};
use std::thread;

/// The one argument of such a process.
const SPIN: &str = "--spin";

/// Busy processes, so that a measurement shares the cores with others. They end when their standard input closes: here, or when this process dies in whatever way.
pub struct Hogs(Vec<Child>);

impl Hogs {
    /// Start `count` of them.
    ///
    /// # Errors
    ///
    /// The operating system starts no more processes.
    pub fn start(count: usize) -> io::Result<Self> {
        let program = env::current_exe()?;
        let hog = |_| Command::new(&program).arg(SPIN).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        (0..count).map(hog).collect::<io::Result<_>>().map(Self)
    }

    /// End them, and say how many were busy until now.
    ///
    /// # Errors
    ///
    /// The operating system says nothing of one.
    pub fn stop(mut self) -> io::Result<usize> {
        let mut busy = 0;
        for mut hog in self.0.drain(..) {
            busy += usize::from(hog.try_wait()?.is_none());
            drop(hog.stdin.take());
            hog.wait()?;
        }
        Ok(busy)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            drop(hog.stdin.take());
            let _ = hog.wait(); // nothing more can be done about one that does not end
        }
    }
}

/// Spin, and never return, if this process was started as a hog.
pub(crate) fn spin_if_asked() {
    if env::args().nth(1).as_deref() != Some(SPIN) {
        return;
    }
    thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        exit(0);
    });
    loop {
        spin_loop();
    }
}

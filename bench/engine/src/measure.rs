//! Wall time and CPU time of a piece of work.
#![expect(unsafe_code, reason = "getrusage is a system call without a safe form")]

use std::mem::MaybeUninit;
use std::time::Instant;

/// The times of one run of a workload.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Wall time in nanoseconds per unit of the workload.
    pub wall_ns: f64,
    /// CPU time in nanoseconds: all threads of the process, and the kernel on its behalf.
    pub cpu_ns: f64,
    /// Additional figures: a name, a unit and a value.
    pub extra: Vec<(&'static str, &'static str, f64)>,
}

impl Sample {
    /// The average over `count` equal steps.
    #[must_use]
    pub fn per(self, count: usize) -> Self {
        Self { wall_ns: self.wall_ns / count as f64, cpu_ns: self.cpu_ns / count as f64, ..self }
    }
}

/// Runs `work` and measures it.
pub fn timed<R>(work: impl FnOnce() -> R) -> (Sample, R) {
    let (wall, cpu) = (Instant::now(), cpu_ns());
    let result = work();
    let sample = Sample {
        cpu_ns: cpu_ns() - cpu,
        wall_ns: wall.elapsed().as_nanos() as f64,
        extra: Vec::new(),
    };
    (sample, result)
}

/// The anonymous memory of this process in bytes; 0 if the system does not report it.
pub(crate) fn memory_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok()).unwrap_or(0.0)
        * 1024.0
}

/// The peak memory of this process since `reset_peak` in bytes, with mapped files; 0 if the system does not report it.
pub(crate) fn peak_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok()).unwrap_or(0.0)
        * 1024.0
}

/// Resets the peak to the memory in use.
pub(crate) fn reset_peak() {
    let reset = std::fs::write("/proc/self/clear_refs", "5");
    drop(reset); // other systems have no such file, and report no peak
}

fn cpu_ns() -> f64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is large enough for the answer; all-zero bytes are valid if the call fails.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

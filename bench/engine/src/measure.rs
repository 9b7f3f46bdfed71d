//! Wall time and CPU time of a piece of work.
#![expect(unsafe_code, reason = "getrusage is a system call without a safe form")]

use std::mem::MaybeUninit;
use std::time::Instant;

/// What one run of a workload took.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Nanoseconds by the clock, for each unit of the workload.
    pub wall_ns: f64,
    /// Nanoseconds of the processor, all threads of the process and the kernel on its behalf.
    pub cpu_ns: f64,
    /// What else is to be known: a name, a unit, a value.
    pub extra: Vec<(&'static str, &'static str, f64)>,
}

impl Sample {
    /// The sample of one of `count` equal steps.
    #[must_use]
    pub fn per(self, count: usize) -> Self {
        Self { wall_ns: self.wall_ns / count as f64, cpu_ns: self.cpu_ns / count as f64, ..self }
    }
}

/// Runs `work` and measures it.
pub fn timed<R>(work: impl FnOnce() -> R) -> (Sample, R) {
    let (wall, cpu) = (Instant::now(), cpu_ns());
    let result = work();
    let sample = Sample { cpu_ns: cpu_ns() - cpu, wall_ns: wall.elapsed().as_nanos() as f64, extra: Vec::new() };
    (sample, result)
}

/// Bytes of memory of this process that no file backs; 0 where the system does not say.
pub(crate) fn memory_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok()).unwrap_or(0.0) * 1024.0
}

/// Most memory that this process held at any moment since `forget_peak`, mapped files included; 0 where the system does
/// not say.
pub(crate) fn peak_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok()).unwrap_or(0.0) * 1024.0
}

/// The peak begins anew at what is held now.
pub(crate) fn forget_peak() {
    let forgotten = std::fs::write("/proc/self/clear_refs", "5");
    drop(forgotten); // elsewhere there is no such file, and no figure either
}

fn cpu_ns() -> f64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is large enough for the answer; all-zero bytes are valid where the call should fail.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

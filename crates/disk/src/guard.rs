//! Keeps the process alive when another program truncates a mapped file, or when its disk fails.
//!
//! Reading a page that the file no longer has raises SIGBUS, which kills the process. The guard
//! 1. keeps the address ranges of Varve's maps in a table without locks, since a signal handler must not take any;
//! 2. handles SIGBUS: if the address is in one of these ranges, it maps a page of zeros there, and the read continues
//!    with zeros, which no checksum accepts. Otherwise it passes the signal to the previous handler.
//!
//! The handler stays installed for the life of the process, because another library may have chained to it since.
#![expect(
    unsafe_code,
    reason = "signal handlers and fixed maps are system calls without a safe form"
)]

mod table;

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};
use table::{Range, TABLE};

/// A watched range. It has to be dropped before the range is unmapped.
#[derive(Debug)]
pub(crate) struct Watched {
    range: Range,
}

/// Watches `length` bytes from `start`, the first byte of a map. Returns `None` if faults cannot be caught.
pub(crate) fn watch(start: usize, length: usize) -> Option<Watched> {
    let page_bytes = (*INSTALLED.get_or_init(install))?.page_bytes;
    let end = start.checked_add(length)?.checked_next_multiple_of(page_bytes)?;
    Some(Watched { range: TABLE.take(start, end) })
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.range.free();
    }
}

/// The data that the handler needs, written before it is installed.
#[derive(Clone, Copy)]
struct Installed {
    page_bytes: usize,
    previous: libc::sigaction,
}

static INSTALLED: OnceLock<Option<Installed>> = OnceLock::new();
/// A leaked copy for the handler, which may run before `INSTALLED` is set.
static FOR_HANDLER: AtomicPtr<Installed> = AtomicPtr::new(ptr::null_mut());

fn install() -> Option<Installed> {
    // SAFETY: no pointers.
    let page_bytes = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    let mut previous = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: only queries the handler; `previous` is large enough for the answer.
    if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), previous.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: the call succeeded and filled it.
    let installed = Installed { page_bytes, previous: unsafe { previous.assume_init() } };
    FOR_HANDLER.store(Box::into_raw(Box::new(installed)), Ordering::SeqCst);
    // SAFETY: all-zero bytes are a valid `sigaction`: no handler, no flags, an empty mask.
    let mut action = unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    action.sa_sigaction = on_fault as *const () as usize;
    // ONSTACK: the fault may occur on a thread with a small stack. NODEFER: a fault within a chained handler must still
    // kill the process.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    // SAFETY: `on_fault` has the signature that SA_SIGINFO requires and does only what a signal handler may do.
    let failed = unsafe { libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) } != 0;
    (!failed).then_some(installed)
}

/// The signal handler. It may run on any thread at any instruction, so it takes no lock, allocates nothing and
/// preserves errno.
extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: written before the handler was installed, and leaked.
    let Some(installed) = (unsafe { FOR_HANDLER.load(Ordering::SeqCst).as_ref() }) else { return };
    // SAFETY: with SA_SIGINFO the system passes a valid `info`.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    // A signal that a program sent has no address. Its code is <= 0 on Linux, and above the codes of all faults on
    // macOS and the BSDs.
    let is_fault = if cfg!(any(target_os = "linux", target_os = "android")) {
        code > 0
    } else {
        (0..0x1_0000).contains(&code)
    };
    if is_fault && TABLE.contains(address) && put_zeros(address, installed.page_bytes) {
        return;
    }
    hand_on(&installed.previous, is_fault, (signal, info, context));
}

/// Maps a page of zeros at `address`.
fn put_zeros(address: usize, page_bytes: usize) -> bool {
    let page = ptr::without_provenance_mut(address & !(page_bytes - 1));
    let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED;
    // SAFETY: the page is within one of Varve's maps (ranges end at page boundaries) and is only ever read. It could
    // not be read before, or there would have been no fault. The owner of the map unmaps it with the rest.
    let mapped =
        unsafe { keeping_errno(|| libc::mmap(page, page_bytes, libc::PROT_READ, flags, -1, 0)) };
    mapped != libc::MAP_FAILED
}

type Signal = (libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Does what the system would have done without this handler.
fn hand_on(previous: &libc::sigaction, is_fault: bool, (signal, info, context): Signal) {
    match previous.sa_sigaction {
        libc::SIG_IGN if !is_fault => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: restores the default action. A fault occurs again after the return and then kills the process. A
            // signal that was sent has to be sent again.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if !is_fault {
                    libc::raise(signal);
                }
            }
        }
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: a handler installed with SA_SIGINFO has this signature.
            unsafe {
                let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                    std::mem::transmute(handler);
                handler(signal, info, context);
            }
        }
        handler => {
            // SAFETY: a handler installed without SA_SIGINFO has this signature.
            unsafe {
                let handler: extern "C" fn(libc::c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// Runs `call` and restores errno, which the interrupted code may be about to read.
// SAFETY: the caller is a signal handler or a test, on a thread that has an errno.
unsafe fn keeping_errno<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: returns the address of this thread's errno; each system has its own name for it.
    #[cfg(any(target_os = "linux", target_os = "dragonfly"))]
    let errno = unsafe { libc::__errno_location() };
    #[cfg(any(target_os = "macos", target_os = "ios", target_os = "freebsd"))]
    // SAFETY: as above.
    let errno = unsafe { libc::__error() };
    #[cfg(any(target_os = "android", target_os = "openbsd", target_os = "netbsd"))]
    // SAFETY: as above.
    let errno = unsafe { libc::__errno() };
    // SAFETY: errno lives as long as its thread.
    let before = unsafe { *errno };
    let result = call();
    // SAFETY: as above.
    unsafe { *errno = before };
    result
}

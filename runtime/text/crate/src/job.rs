//! A job that can be abandoned at any allocation.
//!
//! Fuel does not limit every loop of the grammar compiler. A schema of 64 KiB can take hours and more
//! memory than the machine has. Rust can neither fail nor unwind out of an allocation, and a thread
//! cannot be stopped from outside. A job therefore runs as a coroutine on its own stack:
//!
//!   caller ──resume──▶ job ──alloc──▶ ALLOCATOR: over its time or memory? ──suspend──▶ caller
//!                                                                          frees all it had
//!
//! Every block that a job allocates is recorded until it is freed. A job that exceeds a limit at one of
//! its allocations is suspended at that point and never resumed. Its stack is unmapped and its blocks are
//! freed, so nothing remains of it. Its destructors do not run. A job must therefore hold no lock and
//! change nothing outside itself. (If it clones an `Arc` from outside, the count stays raised.)

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

/// Bytes of a job's stack, enough for the nesting that the callers' limits permit. Untouched pages cost nothing.
const STACK: usize = 64 << 20;
/// The clock is read once in this many allocations.
const CLOCK_EVERY: u32 = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    Time,
    Memory,
    NoStack,
}

struct Job {
    left: isize,
    deadline: Instant,
    until_clock: u32,
    blocks: Blocks,
    yielder: *const Yielder<(), Stopped>,
}

thread_local! {
    static JOB: Cell<*mut Job> = const { Cell::new(std::ptr::null_mut()) };
}

/// Called by the allocator before it allocates.
pub fn before_allocation(bytes: usize) {
    let Ok(job) = JOB.try_with(Cell::get) else { return };
    if job.is_null() {
        return;
    }
    // SAFETY: JOB is non-null only while `run` below keeps the Job, on this thread.
    let job = unsafe { &mut *job };
    let mut stop = None;
    if bytes as isize > job.left || job.blocks.failed {
        stop = Some(Stopped::Memory);
    }
    job.until_clock -= 1;
    if job.until_clock == 0 {
        job.until_clock = CLOCK_EVERY;
        if Instant::now() >= job.deadline {
            stop = Some(Stopped::Time);
        }
    }
    // Do not suspend during a panic, because the thread's panic count would never return to 0.
    if let Some(why) = stop.filter(|_| !std::thread::panicking()) {
        // SAFETY: `yielder` lives on the coroutine's stack and is set when the coroutine starts. This call never
        // returns.
        unsafe { (*job.yielder).suspend(why) };
    }
}

pub fn allocated(pointer: *mut u8, bytes: usize) {
    let Ok(job) = JOB.try_with(Cell::get) else { return };
    if !job.is_null() && !pointer.is_null() {
        // SAFETY: as above.
        let job = unsafe { &mut *job };
        job.left -= bytes as isize;
        job.blocks.insert(pointer as usize);
    }
}

pub fn freed(pointer: *mut u8, bytes: usize) {
    let Ok(job) = JOB.try_with(Cell::get) else { return };
    if !job.is_null() {
        // SAFETY: as above.
        let job = unsafe { &mut *job };
        if job.blocks.remove(pointer as usize) {
            job.left += bytes as isize;
        }
    }
}

/// Runs `work` until it ends or exceeds a limit. If it panics, the inner result is Err.
pub fn run<T>(bytes: usize, time: Duration, work: impl FnOnce() -> T) -> Result<std::thread::Result<T>, Stopped> {
    if JOB.get() != std::ptr::null_mut() {
        return Ok(catch_unwind(AssertUnwindSafe(work))); // a nested job runs within the limits of the outer one
    }
    let stack = DefaultStack::new(STACK).map_err(|_| Stopped::NoStack)?;
    let mut job = Job {
        left: bytes as isize,
        deadline: Instant::now() + time,
        until_clock: CLOCK_EVERY,
        blocks: Blocks::new(),
        yielder: std::ptr::null(),
    };
    let shared: *mut Job = &raw mut job;
    let body = |yielder: &Yielder<(), Stopped>, ()| {
        // SAFETY: `job` outlives the coroutine.
        unsafe { (*shared).yielder = yielder };
        JOB.set(shared);
        let result = catch_unwind(AssertUnwindSafe(work));
        JOB.set(std::ptr::null_mut());
        result
    };
    // SAFETY: `body` borrows from this frame, and the coroutine is gone before the frame ends.
    let mut coroutine = unsafe { Coroutine::<(), Stopped, _, _>::with_stack_unchecked(stack, body) };
    match coroutine.resume(()) {
        CoroutineResult::Return(result) => Ok(result),
        CoroutineResult::Yield(why) => {
            JOB.set(std::ptr::null_mut());
            // SAFETY: nothing refers to the coroutine's stack; its frames own only recorded blocks.
            unsafe {
                coroutine.force_reset();
                job.blocks.free_all();
            }
            Err(why)
        }
    }
}

/// A set of addresses with open addressing, in memory that the allocator does not count.
struct Blocks {
    table: *mut usize, // 0: free, 1: removed
    size: usize,       // a power of two
    used: usize,       // entries that are not 0
    live: usize,
    failed: bool,
}

impl Blocks {
    fn new() -> Blocks {
        let mut blocks = Blocks { table: std::ptr::null_mut(), size: 0, used: 0, live: 0, failed: false };
        blocks.rehash(1 << 12);
        blocks
    }

    fn slot(&self, address: usize) -> usize {
        (address >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20 & (self.size - 1)
    }

    fn put(&mut self, address: usize) {
        let mut at = self.slot(address);
        // SAFETY: at < size, and some slot is 0.
        unsafe {
            while *self.table.add(at) > 1 {
                at = (at + 1) & (self.size - 1);
            }
            if *self.table.add(at) == 0 {
                self.used += 1;
            }
            *self.table.add(at) = address;
        }
        self.live += 1;
    }

    fn rehash(&mut self, size: usize) {
        // SAFETY: calloc allocates at least one word, and null is handled.
        let table = unsafe { libc::calloc(size, size_of::<usize>()) }.cast::<usize>();
        if table.is_null() {
            self.failed = true;
            return;
        }
        let (old, old_size) = (self.table, self.size);
        (self.table, self.size, self.used, self.live) = (table, size, 0, 0);
        for i in 0..old_size {
            // SAFETY: `old` has old_size words.
            match unsafe { *old.add(i) } {
                0 | 1 => {}
                address => self.put(address),
            }
        }
        // SAFETY: from calloc, or null.
        unsafe { libc::free(old.cast()) };
    }

    fn insert(&mut self, address: usize) {
        if 4 * self.used >= 3 * self.size {
            self.rehash(if 2 * self.live >= self.size { 2 * self.size } else { self.size });
        }
        if self.used + 1 < self.size {
            self.put(address);
        }
    }

    fn remove(&mut self, address: usize) -> bool {
        if self.size == 0 {
            return false;
        }
        let mut at = self.slot(address);
        // SAFETY: as in put.
        unsafe {
            while *self.table.add(at) != 0 {
                if *self.table.add(at) == address {
                    *self.table.add(at) = 1;
                    self.live -= 1;
                    return true;
                }
                at = (at + 1) & (self.size - 1);
            }
        }
        false
    }

    /// SAFETY: the blocks are no longer in use. (`System` allocates with malloc and related functions.)
    unsafe fn free_all(&mut self) {
        for i in 0..self.size {
            let address = *self.table.add(i);
            if address > 1 {
                libc::free(address as *mut libc::c_void);
            }
        }
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        // SAFETY: from calloc, or null.
        unsafe { libc::free(self.table.cast()) };
    }
}

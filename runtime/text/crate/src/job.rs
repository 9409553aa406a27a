//! A job that can be left where it stands.
//!
//! Compiling someone's grammar has no fuel for every loop in it: a schema of 64 KiB can ask for hours
//! and for more memory than there is. Rust can neither fail nor unwind out of an allocation, and a
//! thread cannot be stopped from outside, so a job runs as a coroutine on a stack of its own:
//!
//!   caller ──resume──▶ job ──alloc──▶ ALLOCATOR: over its time or memory? ──suspend──▶ caller
//!                                                                          frees all it had
//!
//! Every block a job allocates is noted until it is freed. A job that is over a limit at one of its
//! allocations is suspended there and never resumed: its stack is unmapped and its blocks are freed,
//! so that nothing remains of it. No destructor of it runs. What that asks of a job: it holds no lock and
//! changes nothing outside of itself (what it clones of outside `Arc`s stays counted).

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

/// Deep enough for what the callers' limits on nesting let through; only what is touched is used.
const STACK: usize = 64 << 20;
/// A clock is read at one allocation in so many.
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
    // The thread's count of panics would stay up.
    if let Some(why) = stop.filter(|_| !std::thread::panicking()) {
        // SAFETY: set when the coroutine began, on whose stack it lives. This never returns.
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

/// Runs `work` until it ends or is over a limit. A panic in it is the inner Err.
pub fn run<T>(bytes: usize, time: Duration, work: impl FnOnce() -> T) -> Result<std::thread::Result<T>, Stopped> {
    if JOB.get() != std::ptr::null_mut() {
        return Ok(catch_unwind(AssertUnwindSafe(work))); // a job within a job has its limits
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
    // SAFETY: `body` borrows from this frame, and the coroutine is gone before it ends.
    let mut coroutine = unsafe { Coroutine::<(), Stopped, _, _>::with_stack_unchecked(stack, body) };
    match coroutine.resume(()) {
        CoroutineResult::Return(result) => Ok(result),
        CoroutineResult::Yield(why) => {
            JOB.set(std::ptr::null_mut());
            // SAFETY: nothing refers to the coroutine's stack; its frames own only noted blocks.
            unsafe {
                coroutine.force_reset();
                job.blocks.free_all();
            }
            Err(why)
        }
    }
}

/// A set of addresses, open-addressed, in memory that the allocator does not count.
struct Blocks {
    table: *mut usize, // 0: free, 1: was used
    size: usize,       // a power of two
    used: usize,       // not 0
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
        // SAFETY: calloc of at least one word; null is looked at.
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

    /// SAFETY: nobody uses the blocks any more. (`System` takes all its memory from malloc and its like.)
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

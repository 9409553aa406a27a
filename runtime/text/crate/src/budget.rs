//! A counting allocator, and a memory limit for template rendering.
//!
//! Fuel limits the number of instructions of a template, not the memory that an instruction allocates.
//! Sixty times `{% set s = s ~ s %}` is cheap in fuel but needs more memory than any machine has. Rust
//! can neither fail nor unwind out of an allocation. A render therefore runs on its own thread, which
//! counts its allocations. A thread that exceeds its budget is parked forever, and the caller gets an
//! error at once. The memory of that thread (at most the budget) stays allocated until the process
//! ends, so such a template is never run again (template.rs).

use crate::job;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Bytes that this thread may still allocate; isize::MAX if unlimited.
    static LEFT: Cell<isize> = const { Cell::new(isize::MAX) };
    /// Called once when LEFT is used up. It does not return.
    static EXCEEDED: Cell<Option<(fn(*const ()), *const ())>> = const { Cell::new(None) };
}

fn charge(bytes: isize) {
    let _ = LEFT.try_with(|left| {
        if left.get() == isize::MAX {
            return;
        }
        left.set(left.get().saturating_sub(bytes));
        if left.get() < 0 {
            left.set(isize::MAX); // the report below allocates as well
            if let Some((report, context)) = EXCEEDED.with(Cell::take) {
                report(context);
            }
        }
    });
}

/// The function that is called when the system has no memory left. If it is 0, none is set, and Rust aborts.
static OUT_OF_MEMORY: AtomicUsize = AtomicUsize::new(0);

pub fn on_out_of_memory(report: extern "C" fn()) {
    OUT_OF_MEMORY.store(report as usize, Ordering::Relaxed);
}

fn given(pointer: *mut u8) -> *mut u8 {
    let report = OUT_OF_MEMORY.load(Ordering::Relaxed);
    if pointer.is_null() && report != 0 {
        // SAFETY: only on_out_of_memory stores a value, which is a function pointer.
        unsafe { std::mem::transmute::<usize, extern "C" fn()>(report)() }
    }
    pointer
}

// SAFETY: all calls are forwarded to the system's allocator. Counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        charge(layout.size() as isize);
        job::before_allocation(layout.size());
        let pointer = given(System.alloc(layout));
        job::allocated(pointer, layout.size());
        pointer
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        charge(layout.size() as isize);
        job::before_allocation(layout.size());
        let pointer = given(System.alloc_zeroed(layout));
        job::allocated(pointer, layout.size());
        pointer
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        charge(-(layout.size() as isize));
        job::freed(pointer, layout.size());
        System.dealloc(pointer, layout)
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        charge(size as isize - layout.size() as isize);
        job::before_allocation(size.saturating_sub(layout.size()));
        job::freed(pointer, layout.size());
        let moved = given(System.realloc(pointer, layout, size));
        job::allocated(moved, size);
        moved
    }
}

/// Templates and the values that they build may be deeply nested. Untouched stack pages cost nothing.
const STACK: usize = 256 << 20;

pub const UNLIMITED: usize = isize::MAX as usize;

type Outcome<T> = Option<std::thread::Result<T>>;

fn park_for_good<T: Send + 'static>(context: *const ()) {
    // SAFETY: `within` below sets `context` to a sender on the stack of this same thread.
    let sender = unsafe { &*context.cast::<mpsc::Sender<Outcome<T>>>() };
    let _ = sender.send(None);
    loop {
        std::thread::park();
    }
}

/// Runs `work` with at most `bytes` of live allocations. Returns None if it needed more.
pub fn within<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> Outcome<T> {
    let (sender, receiver) = mpsc::channel::<Outcome<T>>();
    let run = move || {
        EXCEEDED.set(Some((park_for_good::<T>, (&raw const sender).cast())));
        LEFT.set(bytes as isize);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        LEFT.set(isize::MAX);
        let _ = sender.send(Some(result));
    };
    let thread = std::thread::Builder::new().name("chat-template".into()).stack_size(STACK).spawn(run);
    match thread {
        Ok(_) => receiver.recv().unwrap_or(None),
        Err(error) => Some(Err(Box::new(format!("no thread for the template: {error}")))),
    }
}

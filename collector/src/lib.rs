//! Turns outcomes into one truth: folds records into rows, proves that every planned case is accounted for, renders reports.
//!
//! It must never run or schedule anything, and it must never change a verdict that an executor recorded.

pub mod completeness;
pub mod evidence;
pub mod exit;
mod files;
pub mod fold;
pub mod render;
pub mod report;
pub mod results;
#[cfg(test)]
mod testing;

pub use files::FileError;

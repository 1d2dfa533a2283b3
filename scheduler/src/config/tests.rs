//! Tests of the whole loader.

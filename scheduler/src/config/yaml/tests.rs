//! Tests of the YAML loader.

#!/usr/bin/env bash
# Builds the fuzz targets with coverage on the stable toolchain and runs each for some seconds.
# FUZZ_SECONDS: for each target (default 5). FUZZ_SEED: fixed by default. FUZZ_TARGETS: which (default all). FUZZ_JOBS: processes for each.
# Corpora and crashes stay in target/fuzz-corpus and target/fuzz-crashes.
set -euo pipefail
cd "$(dirname "$0")/.."
triple=x86_64-unknown-linux-gnu
targets=${FUZZ_TARGETS:-frame redact code_mode config evidence bundle}
# What `cargo fuzz -s none` sets, without its nightly sanitizers. With --target the flags do not reach build scripts.
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags+=" -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions -Coverflow-checks"
bins=()
for target in $targets; do bins+=(--bin "$target"); done
features=()
[[ $targets == *evidence* || $targets == *bundle* ]] || features=(--no-default-features)
RUSTFLAGS=$flags cargo build ${LOCKED:-} --manifest-path fuzz/Cargo.toml --target $triple --target-dir target/fuzz "${features[@]}" "${bins[@]}"
fuzz/seeds.sh target/fuzz-seeds
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for target in $targets; do
    mkdir -p "target/fuzz-corpus/$target" "target/fuzz-crashes/$target" "fuzz/regressions/$target"
    corpus="target/fuzz-corpus/$target"
    log="$work/$target.log"
    # A short run starts from the seeds alone, so that it does the same everywhere.
    [[ ${FUZZ_SEED:-1} == 0 ]] || { corpus="$work/$target"; mkdir -p "$corpus"; }
    if TMPDIR=$work "target/fuzz/$triple/debug/$target" "$corpus" "target/fuzz-seeds/$target" "fuzz/regressions/$target" \
        -seed="${FUZZ_SEED:-1}" -max_total_time="${FUZZ_SECONDS:-5}" -fork="${FUZZ_JOBS:-0}" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
        -artifact_prefix="target/fuzz-crashes/$target/" >"$log" 2>&1; then
        echo "fuzz $target: $(grep -E 'DONE|cov:' "$log" | tail -1)"
    else
        failed=1
        echo "fuzz $target: FAILED; the input is below target/fuzz-crashes/$target"
        tail -40 "$log"
    fi
done
exit $failed

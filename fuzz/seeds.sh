#!/usr/bin/env bash
# Makes the seed corpora of the fuzz targets out of the samples and fixtures of the tree. First argument: the folder to fill.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1
mkdir -p "$out"/{frame,redact,code_mode,config,evidence,bundle}

for sample in executor/tests/samples/v1/*/; do
    name=$(basename "$sample")
    # Events, log, then a probe's life as a passing case shows it.
    {
        cat "$sample/events.jsonl" 2>/dev/null || true
        printf '\n---\n'
        cat "$sample/stderr.log" 2>/dev/null || true
        printf '\n---\n{"kind":"setup"}\n---\n'
        printf '{"kind":"setup"}\n{"kind":"import","exports":[]}\n{"kind":"factory.start","id":1,"export":"Plugin"}\n'
        printf '{"kind":"factory.end","id":1,"returned":"object","hooks":["event"],"hookTypes":{"event":"function"}}\n---\n'
        printf '{"kind":"setup"}\n{"kind":"inventory","tools":["bash"],"plugins":["file:///run/ocsweep/assets/observer.mjs"]}\n'
    } >"$out/evidence/$name"
    { printf 'a-secret-value\n'; head -c 2000 "$sample/events.jsonl" 2>/dev/null || true; } >"$out/redact/$name"
done

number=0
while IFS= read -r -d '' file; do
    number=$((number + 1))
    case $file in
    */scenarios/*) choice='\2' ;;
    *.json) choice='\1' ;;
    *) choice='\0' ;;
    esac
    { printf "$choice"; cat "$file"; } >"$out/config/$number"
done < <(find scheduler/tests/config tests/fixtures tests/cases examples -path '*/.opencode-ci/*' \( -name '*.yaml' -o -name '*.json' \) -size -8k -print0 | sort -z)

for fixture in tests/fixtures/*/; do
    tar --sort=name --mtime=@0 --owner=0 --group=0 -C "$fixture" -cf "$out/bundle/$(basename "$fixture").tar" .
done
printf '\7OF\1\2\0\0\0\0\0\0\0\0' >"$out/frame/empty"
printf '\3hello' >"$out/frame/hello"
grep -o '"[^"]*tools\.[^"]*"' proto/src/code_mode/tests.rs | sed 's/^"//; s/"$//; s/\\n/\n/g' >"$out/code_mode/tests" || true

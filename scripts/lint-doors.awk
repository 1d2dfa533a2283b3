# Line rules for one set of files, called by lint-doors.sh with paths relative to the repository root. Prints `file:line: rule` and
# nothing else; it must not know about git or exit codes. Plain awk (mawk too): no \b, no {n}, no gensub.

function bad(rule) { print FILENAME ":" FNR ": " rule }
function basename(path) { sub(/.*\//, "", path); return path }
function under(prefix) { return index(FILENAME, prefix) == 1 }

# use_of(NAME): the line names the crate NAME as a path or imports it. `text` has no comments and no strings.
function use_of(name) { return text ~ ("(^|[^A-Za-z0-9_.])" name "(::|;|[ ]+as[ ])") && text !~ ("crate::[a-z_:]*" name) }

function code_without_noise(line) {
    gsub(/\\\\|\\"/, "", line)
    gsub(/"[^"]*"/, "\"\"", line)
    if (line ~ /^[ \t]*\/\//) return ""
    sub(/[ \t]\/\/.*$/, "", line)
    return line
}

function doors() {
    if (use_of("bollard") && !under("executor/src/container/") && FILENAME != "executor/src/container.rs")
        bad("bollard is used outside the executor's container module")
    if (use_of("lapin") && FILENAME != "proto/transport/src/queue/amqp.rs")
        bad("lapin is used outside the AMQP transport")
    if (use_of("object_store") && FILENAME !~ /^proto\/transport\/src\/store(\.rs$|\/)/)
        bad("object_store is used outside the store module")
    if ((use_of("clap") || use_of("anyhow")) && FILENAME !~ /^(src|tests|benches)\//)
        bad("clap or anyhow is used outside the root package")
}

# A `#[cfg(test)]` covers the item that follows: one line when it ends in `;`, the rest of the file for a module with a body (clippy
# lets nothing follow one), else up to the brace at the attribute's own indent.
function in_test_item(    indent) {
    if (closing != "") {
        if (index($0, closing) == 1) closing = ""
        return 1
    }
    if (pending) {
        if ($0 ~ /^[ \t]*(#\[|\/\/)/) return 1
        pending = 0
        if ($0 ~ /[;}][ \t]*$/) return 1
        closing = ($0 ~ /^(pub.* )?mod /) ? "end of file" : test_indent "}"
        return 1
    }
    if ($0 ~ /^[ \t]*#\[cfg\((test|all\(test.*|any\(test.*)\)\]/) {
        indent = $0
        sub(/#.*/, "", indent)
        test_indent = indent
        pending = ($0 ~ /\)\][ \t]*$/)
        return 1
    }
    return 0
}

function code_rules() {
    if (text ~ /\.unwrap\(\)/) bad("unwrap() outside tests")
    if (text ~ /(^|[^A-Za-z0-9_])todo!/) bad("todo! is unfinished work")
    if (text ~ /(^|[^A-Za-z0-9_])unimplemented!/) bad("unimplemented! is unfinished work")
    if (text ~ /(^|[^A-Za-z0-9_])dbg!/) bad("dbg! is a left-over")
    if (text ~ /(^|[^A-Za-z0-9_])print(ln)?!/ && FILENAME !~ /^src\/output(\.rs$|\/)/) bad("println! outside src/output.rs")
}

function manifest_rules(    name) {
    if ($0 ~ /^[ \t]*\[/) {
        in_deps = ($0 ~ /dependencies(\.[A-Za-z0-9_-]+)?\][ \t]*(#.*)?$/ && $0 !~ /^\[workspace/)
        if (in_deps && $0 ~ /dependencies\./) { name = $0; sub(/.*dependencies\./, "", name); sub(/\].*/, "", name) } else return
    } else {
        if (!in_deps || $0 !~ /^[A-Za-z0-9_"-]+[ \t]*[.=]/) return
        name = $0
        sub(/[ \t]*[.=].*/, "", name)
    }
    if ($0 ~ /package[ \t]*=[ \t]*"/) { name = $0; sub(/.*package[ \t]*=[ \t]*"/, "", name); sub(/".*/, "", name) }
    gsub(/"/, "", name)
    manifest_rule(name)
}

function manifest_rule(name) {
    if (FILENAME == "proto/Cargo.toml" && name ~ /^(tokio.*|lapin|bollard|object_store|clap|ocsweep-.*)$/) {
        bad("proto is pure and must not depend on " name)
        return
    }
    if (FILENAME ~ /^(scheduler|executor|collector)\/Cargo.toml$/ && name ~ /^ocsweep-(scheduler|executor|collector)$/)
        bad("scheduler, executor and collector must not depend on one another (" name ")")
    if (FILENAME ~ /^(executor\/agent|proto\/transport)\/Cargo.toml$/ && name ~ /^ocsweep(-.*)?$/ && name != "ocsweep-proto")
        bad("this crate may depend on ocsweep-proto alone, not on " name)
    if (FILENAME != "Cargo.toml" && name ~ /^(clap|anyhow)$/) bad("only the root package may depend on " name)
    if (FILENAME != "executor/Cargo.toml" && name == "bollard") bad("only the executor may depend on bollard")
    if (FILENAME != "proto/transport/Cargo.toml" && name ~ /^(lapin|object_store)$/) bad("only the transport may depend on " name)
}

FNR == 1 {
    closing = ""; pending = 0; in_deps = 0
    rust = (FILENAME ~ /\.rs$/)
    manifest = (basename(FILENAME) == "Cargo.toml")
    # cargo would build the agent for its integration tests and put that over the static one beside the command line.
    if (FILENAME ~ /^executor\/agent\/(tests|benches)\//) bad("the agent's tests live in its src")
    test_file = (FILENAME ~ /(^|\/)(tests|benches)\// || FILENAME ~ /(^|\/)(([a-z0-9_]+_)?tests|testing)\.rs$/)
    if (rust && $0 !~ /^\/\/!/) bad("the file does not start with //!")
    if (FILENAME ~ /^executor\/probe\/.*\.m?js$/ && $0 !~ /^\/\//) bad("the file does not start with //")
}
rust && FNR == 501 { bad("the file is longer than 500 lines") }
rust {
    text = code_without_noise($0)
    doors()
    if (text ~ /#\[ignore/) bad("#[ignore] hides a test")
    if (!test_file && !in_test_item()) code_rules()
}
manifest { manifest_rules() }

//! Each protection of a container, one assertion each: a lost line in `spec.rs` is a red test here.

use ocsweep_proto::ids::{CaseId, SweepId};
use serde_json::{Value, json};

use super::*;

fn claim() -> Claim {
    Claim { sweep: SweepId::new("s").unwrap(), case: CaseId::new("load-1").unwrap(), attempt: 1 }
}

fn labels() -> Labels {
    HashMap::from([("ocsweep.executor".to_owned(), "me".to_owned())])
}

fn case() -> Value {
    let spec = CaseSpec {
        image: "sha256:1".to_owned(),
        claim: claim(),
        agent: VolumeName::unchecked("a"),
        host: VolumeName::unchecked("h"),
        bundle: VolumeName::unchecked("b"),
        limits: Limits { memory_bytes: 1000, home_bytes: 10, tmp_bytes: 20, project_bytes: 30, pids: 7, nofile: 9, ..Limits::default() },
        deadline: Duration::from_secs(1),
    };
    serde_json::to_value(case_container(&spec, labels())).unwrap()
}

fn plain(network: bool) -> Value {
    let spec = PlainSpec {
        image: "i".to_owned(),
        claim: claim(),
        argv: vec!["npm".to_owned(), "ci".to_owned()],
        env: BTreeMap::from([("A".to_owned(), "b=c".to_owned())]),
        volumes: vec![VolumeMount { volume: VolumeName::unchecked("w"), target: "/w".to_owned(), read_only: false }],
        files: vec![FileMount { source: "/etc/ca.crt".into(), target: "/ca.crt".to_owned() }],
        tmpfs: vec![TmpfsMount { target: "/t".to_owned(), bytes: 5 }],
        network,
        uid: 1000,
        workdir: "/w".to_owned(),
        memory_bytes: 1000,
        pids: 7,
        nofile: 9,
        output_bytes: 1,
        deadline: Duration::from_secs(1),
    };
    serde_json::to_value(plain_container(&spec, labels())).unwrap()
}

fn check(container: &Value, table: &[(&str, Value)]) {
    for (pointer, expected) in table {
        assert_eq!(container.pointer(pointer).unwrap_or(&Value::Null), expected, "{pointer}");
    }
}

/// What every container has.
fn common() -> Vec<(&'static str, Value)> {
    vec![
        ("/HostConfig/ReadonlyRootfs", json!(true)),
        ("/HostConfig/CapDrop", json!(["ALL"])),
        ("/HostConfig/SecurityOpt", json!(["no-new-privileges:true"])),
        ("/HostConfig/Privileged", json!(false)),
        ("/HostConfig/PidsLimit", json!(7)),
        ("/HostConfig/Memory", json!(1000)),
        ("/HostConfig/MemorySwap", json!(1000)),
        ("/HostConfig/Ulimits", json!([{"Name": "nofile", "Soft": 9, "Hard": 9}, {"Name": "core", "Soft": 0, "Hard": 0}])),
        ("/HostConfig/ShmSize", json!(16 * 1024 * 1024)),
        ("/HostConfig/IpcMode", json!("private")),
        ("/HostConfig/Init", json!(false)),
        ("/HostConfig/LogConfig", json!({"Type": "none"})),
        ("/HostConfig/NanoCpus", Value::Null),
        ("/HostConfig/Binds", Value::Null),
        ("/HostConfig/PidMode", Value::Null),
        ("/HostConfig/Devices", Value::Null),
        ("/Hostname", json!("sandbox")),
        ("/Labels", json!({"ocsweep.executor": "me"})),
        ("/Tty", json!(false)),
    ]
}

#[test]
fn a_case_is_cut_off_and_bounded() {
    let container = case();
    check(&container, &common());
    let volume = |name: &str, target: &str| {
        json!({"Type": "volume", "Source": name, "Target": target, "ReadOnly": true,
            "VolumeOptions": {"NoCopy": true, "Labels": {"ocsweep.executor": "me"}}})
    };
    check(
        &container,
        &[
            ("/Image", json!("sha256:1")),
            ("/Entrypoint", json!(["/opt/ocsweep/agent/ocsweep-agent"])),
            ("/Cmd", Value::Null),
            ("/Env", Value::Null),
            ("/User", json!("0:0")),
            ("/OpenStdin", json!(true)),
            ("/StdinOnce", json!(true)),
            ("/HostConfig/NetworkMode", json!("none")),
            ("/HostConfig/Dns", json!(["127.0.0.1"])),
            ("/HostConfig/CapAdd", json!(["SETUID", "SETGID", "KILL", "CHOWN", "DAC_READ_SEARCH"])),
            (
                "/HostConfig/Mounts",
                json!([volume("a", "/opt/ocsweep/agent"), volume("h", "/opt/ocsweep/host"), volume("b", "/opt/ocsweep/bundle")]),
            ),
            (
                "/HostConfig/Tmpfs",
                json!({
                    "/run/ocsweep": "rw,nosuid,nodev,noexec,size=16777216,mode=0711",
                    "/sandbox/home": "rw,nosuid,nodev,exec,size=10,uid=1000,gid=1000,mode=0755",
                    "/sandbox/tmp": "rw,nosuid,nodev,exec,size=20,uid=1000,gid=1000,mode=0755",
                    "/sandbox/project": "rw,nosuid,nodev,exec,size=30,uid=1000,gid=1000,mode=0755",
                }),
            ),
        ],
    );
}

#[test]
fn a_plain_container_has_no_power_at_all() {
    let container = plain(false);
    let mut common = common();
    for (path, expected) in &mut common {
        if *path == "/HostConfig/Ulimits" {
            let limits = expected.as_array_mut().unwrap();
            limits.push(json!({"Name": "fsize", "Soft": LARGEST_FILE_BYTES, "Hard": LARGEST_FILE_BYTES}));
        }
    }
    check(&container, &common);
    check(
        &container,
        &[
            ("/HostConfig/NetworkMode", json!("none")),
            ("/HostConfig/CapAdd", Value::Null),
            ("/HostConfig/Tmpfs", json!({"/t": "rw,nosuid,nodev,exec,size=5,uid=1000,gid=1000,mode=0755"})),
            ("/HostConfig/Mounts/0/ReadOnly", json!(false)),
            ("/HostConfig/Mounts/1", json!({"Type": "bind", "Source": "/etc/ca.crt", "Target": "/ca.crt", "ReadOnly": true})),
            ("/User", json!("1000:1000")),
            ("/WorkingDir", json!("/w")),
            ("/Env", json!(["A=b=c"])),
            ("/Entrypoint", json!(["npm", "ci"])),
            ("/OpenStdin", Value::Null),
        ],
    );
    assert_eq!(plain(true).pointer("/HostConfig/NetworkMode"), Some(&json!("bridge")));
}

#[test]
fn a_helper_for_reading_cannot_write() {
    let volume = VolumeName::unchecked("v");
    for read_only in [true, false] {
        let container = serde_json::to_value(helper_container("i", &volume, "/data", read_only, labels())).unwrap();
        check(
            &container,
            &[
                ("/HostConfig/Mounts/0/ReadOnly", json!(read_only)),
                ("/HostConfig/ReadonlyRootfs", json!(read_only)),
                ("/HostConfig/NetworkMode", json!("none")),
                ("/Entrypoint", json!(["/bin/false"])),
            ],
        );
    }
}

//! The private root: the machine's programs read-only, a few files of its `/etc`, own `/proc`, `/dev` and memory file systems, and what the
//! order binds. Nothing else of the machine is in it: no home, no `/tmp`, no socket.
//!
//! It runs as PID 1 of its own mount namespace and must never change anything outside of it.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ocsweep_proto::agent::paths;
use ocsweep_proto::launch::{Launch, Tmpfs};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};

use super::{Refused, refused};

const MIB: u64 = 1024 * 1024;
/// Where Linux systems keep programs and libraries.
const SYSTEM: [&str; 9] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];
/// What programs need of `/etc`: the loader, certificates, Debian's links to chosen programs. Nothing with names of people.
const ETC: [&str; 11] = [
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "ssl/certs",
    "ssl/openssl.cnf",
    "pki/tls",
    "ca-certificates",
    "localtime",
    "protocols",
    "services",
];
/// What a program with network needs besides.
const ETC_NETWORK: [&str; 4] = ["resolv.conf", "hosts", "nsswitch.conf", "gai.conf"];
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const PLAIN: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// Builds the root and moves into it.
pub(super) fn enter(launch: &Launch) -> Result<(), Refused> {
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(refused("cannot make the mounts private"))?;
    let root = Path::new(&launch.root);
    mount("tmpfs", root, PLAIN, &format!("size={},mode=0755", 4 * MIB))?;
    for directory in SYSTEM {
        system(root, directory)?;
    }
    etc(root, launch.network)?;
    let proc = directory(root, "/proc")?;
    mount("proc", &proc, PLAIN | MountFlags::NOEXEC, "")?;
    devices(root)?;
    for tmpfs in &launch.tmpfs {
        memory(root, tmpfs)?;
    }
    for bound in &launch.binds {
        bind(root, Path::new(&bound.source), &bound.target, bound.read_only)?;
    }
    for cgroup in &launch.cgroups {
        bind(root, Path::new(&cgroup.directory), &cgroup.target, true)?;
    }
    // As in the image: what ignores TMPDIR is seen there too.
    for link in ["/tmp", "/var/tmp"] {
        make_link(root, paths::TMP, link)?;
    }
    pivot(root)
}

fn pivot(root: &Path) -> Result<(), Refused> {
    let pivoted = || -> io::Result<()> {
        std::env::set_current_dir(root)?;
        // The old root lands on the new one, and goes.
        rustix::process::pivot_root(".", ".")?;
        rustix::mount::unmount(".", UnmountFlags::DETACH)?;
        std::env::set_current_dir("/")?;
        Ok(rustix::mount::mount_remount("/", MountFlags::RDONLY | PLAIN, c"")?)
    };
    pivoted().map_err(refused("cannot move into the new root"))
}

fn inside(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

fn directory(root: &Path, path: &str) -> Result<PathBuf, Refused> {
    let place = inside(root, path);
    fs::create_dir_all(&place).map_err(refused(format_args!("cannot make {path} in the new root")))?;
    Ok(place)
}

fn make_link(root: &Path, target: impl AsRef<Path>, path: &str) -> Result<(), Refused> {
    let place = inside(root, path);
    let made = place.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| symlink(target, &place));
    made.map_err(refused(format_args!("cannot make the link {path} in the new root")))
}

fn mount(kind: &str, target: &Path, flags: MountFlags, options: &str) -> Result<(), Refused> {
    let options = CString::new(options).map_err(refused("mount options"))?;
    rustix::mount::mount(kind, target, kind, flags, options.as_c_str())
        .map_err(refused(format_args!("cannot mount {kind} on {}", target.display())))
}

fn system(root: &Path, path: &str) -> Result<(), Refused> {
    let source = Path::new(path);
    match fs::read_link(source) {
        Ok(target) => make_link(root, target, path),
        Err(_) if source.is_dir() => bind(root, source, path, true),
        Err(_) => Ok(()),
    }
}

fn etc(root: &Path, network: bool) -> Result<(), Refused> {
    let more: &[&str] = if network { &ETC_NETWORK } else { &[] };
    for name in ETC.iter().chain(more) {
        let path = format!("/etc/{name}");
        if Path::new(&path).exists() {
            bind(root, Path::new(&path), &path, true)?;
        }
    }
    let uid = paths::UID;
    let mut own = vec![
        ("passwd", format!("root:x:0:0:root:/:/bin/sh\nuser:x:{uid}:{uid}:user:{}:/bin/sh\n", paths::HOME)),
        ("group", format!("root:x:0:\nuser:x:{uid}:\n")),
        ("hostname", "sandbox\n".to_owned()),
    ];
    if !network {
        own.push(("hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n".to_owned()));
        own.push(("resolv.conf", "nameserver 127.0.0.1\n".to_owned()));
        own.push(("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n".to_owned()));
    }
    let etc = directory(root, "/etc")?;
    own.iter().try_for_each(|(name, text)| fs::write(etc.join(name), text)).map_err(refused("cannot write into the new /etc"))
}

fn devices(root: &Path) -> Result<(), Refused> {
    let dev = directory(root, "/dev")?;
    mount("tmpfs", &dev, MountFlags::NOSUID | MountFlags::NOEXEC, "size=65536,mode=0755")?;
    for name in DEVICES {
        let (source, target) = (Path::new("/dev").join(name), dev.join(name));
        if source.exists() {
            let made = fs::write(&target, "").and_then(|()| Ok(rustix::mount::mount_bind(&source, &target)?));
            made.map_err(refused(format_args!("cannot have /dev/{name}")))?;
        }
    }
    for (name, target) in
        [("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"), ("stderr", "/proc/self/fd/2")]
    {
        make_link(root, target, &format!("/dev/{name}"))?;
    }
    mount("tmpfs", &directory(root, "/dev/shm")?, PLAIN | MountFlags::NOEXEC, &format!("size={},mode=1777", 16 * MIB))?;
    let pts = directory(root, "/dev/pts")?;
    // A terminal is a comfort; a kernel without it runs everything else.
    if mount("devpts", &pts, MountFlags::NOSUID | MountFlags::NOEXEC, "newinstance,ptmxmode=0666,mode=0620").is_ok() {
        make_link(root, "pts/ptmx", "/dev/ptmx")?;
    }
    let dev_flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NOEXEC;
    rustix::mount::mount_remount(&dev, dev_flags, c"size=65536,mode=0755").map_err(refused("cannot close /dev"))
}

fn memory(root: &Path, tmpfs: &Tmpfs) -> Result<(), Refused> {
    let target = directory(root, &tmpfs.target)?;
    let owner = if tmpfs.of_user || !rustix::process::geteuid().is_root() { paths::UID } else { 0 };
    let flags = if tmpfs.exec { PLAIN } else { PLAIN | MountFlags::NOEXEC };
    mount("tmpfs", &target, flags, &format!("size={},mode={},uid={owner},gid={owner}", tmpfs.bytes, tmpfs.mode))
}

/// Binds a file or directory, with what is mounted below it.
fn bind(root: &Path, source: &Path, target: &str, read_only: bool) -> Result<(), Refused> {
    let place = inside(root, target);
    let source = fs::canonicalize(source).map_err(refused(format_args!("cannot use {}", source.display())))?;
    let made = if source.is_dir() {
        fs::create_dir_all(&place)
    } else {
        place.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&place, ""))
    };
    made.map_err(refused(format_args!("cannot make {target} in the new root")))?;
    rustix::mount::mount_bind_recursive(&source, &place).map_err(refused(format_args!("cannot bind {target}")))?;
    for (path, flags) in mounts_at(&place).map_err(refused("cannot read the mounts"))? {
        let flags = flags | PLAIN | MountFlags::BIND | if read_only { MountFlags::RDONLY } else { MountFlags::empty() };
        rustix::mount::mount_remount(&path, flags, c"").map_err(refused(format_args!("cannot protect {}", path.display())))?;
    }
    Ok(())
}

/// The mounts at a path and below it, with the flags that they have already: in a user namespace those must stay.
fn mounts_at(top: &Path) -> io::Result<Vec<(PathBuf, MountFlags)>> {
    let text = fs::read_to_string("/proc/self/mountinfo")?;
    Ok(text.lines().filter_map(mount_line).filter(|(path, _)| path.starts_with(top)).collect())
}

fn mount_line(line: &str) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(' ').skip(4);
    let (path, options) = (fields.next()?, fields.next()?);
    let mut flags = MountFlags::empty();
    for option in options.split(',') {
        flags |= match option {
            "ro" => MountFlags::RDONLY,
            "nosuid" => MountFlags::NOSUID,
            "nodev" => MountFlags::NODEV,
            "noexec" => MountFlags::NOEXEC,
            "noatime" => MountFlags::NOATIME,
            "nodiratime" => MountFlags::NODIRATIME,
            "relatime" => MountFlags::RELATIME,
            _ => MountFlags::empty(),
        };
    }
    let path = path.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\");
    Some((PathBuf::from(path), flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_gives_path_and_flags() {
        let line = "36 35 98:0 /mnt1 /mnt\\0402 ro,noatime,nosuid master:1 - ext3 /dev/root rw";
        let (path, flags) = mount_line(line).unwrap();
        assert_eq!(path, Path::new("/mnt 2"));
        assert_eq!(flags, MountFlags::RDONLY | MountFlags::NOATIME | MountFlags::NOSUID);
        assert!(mount_line("36 35").is_none());
    }
}

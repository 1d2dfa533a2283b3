//! Archives of strangers: the reader of bundles keeps its caps, no path of a bundle climbs or is absolute, a bundle written again reads as
//! the same content; the reader of npm tarballs writes no more than its cap. The input is the archive. It must never unpack anything.
#![no_main]

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use ocsweep_executor::binary::archive::{Caps, extract_binary};
use ocsweep_executor::subject::bundle::{BundleCaps, BundleOptions, scan_tar, write_tar};

const BYTES: u64 = 64 * 1024;
const ENTRIES: usize = 64;

fuzz_target!(|input: &[u8]| {
    let options = BundleOptions { caps: BundleCaps { bytes: BYTES, entries: ENTRIES }, ..BundleOptions::default() };
    let spool = std::env::temp_dir();
    if let Ok(bundle) = scan_tar(input, "", &spool, &options) {
        assert!(bundle.bytes <= BYTES, "the byte cap does not hold");
        let archive = write_tar(&bundle, Vec::new()).expect("a bundle that was read can be written");
        let mut tar = tar::Archive::new(archive.as_slice());
        let mut entries = 0;
        for entry in tar.entries().expect("entries") {
            let entry = entry.expect("an entry");
            let path = entry.path_bytes().into_owned();
            assert!(!path.starts_with(b"/") && path.split(|b| *b == b'/').all(|part| part != b".."), "a path leaves the root");
            entries += 1;
        }
        assert!(entries <= ENTRIES, "the entry cap does not hold");
        let again = scan_tar(archive.as_slice(), "", &spool, &options).expect("a written bundle can be read");
        assert_eq!((bundle.digest, bundle.bytes), (again.digest, again.bytes), "writing changes the content");
    }
    npm(input);
});

/// The tarball as it is, and with a valid compression around it, so that the fuzzer need not guess one.
fn npm(input: &[u8]) {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(input).expect("memory");
    let packed = packed.finish().expect("memory");
    for tarball in [input, packed.as_slice()] {
        let mut out = Vec::new();
        let caps = Caps { file_bytes: 4096, total_bytes: BYTES };
        let result = extract_binary(tarball, &mut out, caps);
        assert!(out.len() as u64 <= caps.file_bytes, "the file cap does not hold");
        if let Ok((_, bytes)) = result {
            assert!(bytes > 0 && bytes == out.len() as u64);
        }
    }
}

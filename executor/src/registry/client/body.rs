//! Bodies of answers, bounded in size before and after unpacking.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use futures_util::StreamExt as _;
use reqwest::{Response, Url};

use super::{RegistryError, malformed, unreachable};

/// The whole body as it was sent.
pub(super) async fn collect(url: &Url, response: Response, limit: u64) -> Result<Vec<u8>, RegistryError> {
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk.map_err(|error| unreachable(url, error))?);
        within_limit(url, bytes.len() as u64, limit)?;
    }
    Ok(bytes)
}

/// Unpacks a gzip body, which may be far larger than what was sent.
pub(super) async fn unzip(url: &Url, bytes: Vec<u8>, limit: u64) -> Result<Vec<u8>, RegistryError> {
    let unpacked = tokio::task::spawn_blocking(move || {
        // One byte more than allowed is enough to see that there is more.
        read_at_most(MultiGzDecoder::new(bytes.as_slice()), limit.saturating_add(1))
    });
    let out = unpacked.await.map_err(|error| malformed(url, &error.to_string()))?;
    let out = out.map_err(|error| malformed(url, &format!("it is no gzip stream: {error}")))?;
    within_limit(url, out.len() as u64, limit)?;
    Ok(out)
}

fn read_at_most(reader: impl Read, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    reader.take(limit).read_to_end(&mut out)?;
    Ok(out)
}

pub(super) fn within_limit(url: &Url, bytes: u64, limit: u64) -> Result<(), RegistryError> {
    if bytes > limit { Err(malformed(url, &format!("it is larger than {limit} bytes"))) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_stream_is_read_up_to_the_limit() {
        assert_eq!(read_at_most(std::io::repeat(0), 1000).unwrap().len(), 1000);
    }
}

//! Loopback of a new network namespace: up, and with all its ports for everybody, as in a container.
//!
//! It must never touch another interface; the namespace has no other.

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};

use super::{Refused, refused};

const PORTS: &str = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
/// The first interface of a network namespace.
const LOOPBACK: i32 = 1;
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST_ACK: u16 = 1 | 4;
const NLMSG_ERROR: u16 = 2;
const IFF_UP: u32 = 1;
const HEADER: usize = 16;

pub(super) fn loopback() -> Result<(), Refused> {
    up().map_err(refused("cannot bring loopback up"))?;
    // Without it the names that are looked up are not recorded, which the agent notes; nothing else.
    let _ = std::fs::write(PORTS, "0");
    Ok(())
}

/// Protocol 0 of netlink is routing.
fn up() -> rustix::io::Result<()> {
    let socket = rustix::net::socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    rustix::net::sendto(&socket, &request(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0; 256];
    let (size, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    match error_of(answer.get(..size).unwrap_or_default()) {
        Some(0) => Ok(()),
        Some(error) => Err(rustix::io::Errno::from_raw_os_error(-error)),
        None => Err(rustix::io::Errno::PROTO),
    }
}

/// `nlmsghdr` and `ifinfomsg`.
fn request() -> Vec<u8> {
    let mut message = Vec::new();
    message.extend(32_u32.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(NLM_F_REQUEST_ACK.to_ne_bytes());
    // Sequence number and port.
    message.extend([0; 8]);
    // Family, padding and type of the device.
    message.extend([0; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    message
}

/// The code of an `nlmsgerr`, which is 0 for done.
fn error_of(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let code = answer.get(HEADER..HEADER + 4)?.try_into().ok()?;
    (kind == NLMSG_ERROR).then(|| i32::from_ne_bytes(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_is_as_long_as_it_says() {
        let request = request();
        assert_eq!(u32::from_ne_bytes(request[..4].try_into().unwrap()) as usize, request.len());
    }

    #[test]
    fn only_an_acknowledgement_of_zero_is_done() {
        let answer = |kind: u16, code: i32| {
            let mut bytes = vec![0; HEADER + 4];
            bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
            bytes[HEADER..].copy_from_slice(&code.to_ne_bytes());
            error_of(&bytes)
        };
        assert_eq!((answer(NLMSG_ERROR, 0), answer(NLMSG_ERROR, -1), answer(3, 0)), (Some(0), Some(-1), None));
        assert_eq!(error_of(b"short"), None);
    }
}

//! Ports that nobody listens on.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use crate::Error;

/// As many ports of 127.0.0.1 as are asked for, all different. Somebody else may take one before
/// it is used; the start that finds it taken is made again.
pub(crate) fn free<const N: usize>() -> Result<[u16; N], Error> {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    // All are held until the last one is known, or two could be the same.
    let mut listeners = Vec::with_capacity(N);
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = listen().map_err(Error::io("listen on", Path::new("127.0.0.1")))?;
        let address = listener.local_addr();
        *port = address
            .map_err(Error::io("ask the port of", Path::new("127.0.0.1")))?
            .port();
        listeners.push(listener);
    }
    Ok(ports)
}

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::ApiAddress;

/// A blackholed address must not eat the time that the next one needs.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// A connection of which every operation ends at the deadline.
pub(super) struct Connection {
    stream: Stream,
    deadline: Instant,
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Connection {
    pub(super) fn open(address: &ApiAddress, deadline: Instant) -> io::Result<Self> {
        let limit = left(deadline)?.min(CONNECT_LIMIT);
        let stream = match address {
            ApiAddress::Tcp(socket) => Stream::Tcp(tcp(socket, limit)?),
            ApiAddress::Unix(path) => Stream::Unix(unix(path, limit)?),
        };
        Ok(Self { stream, deadline })
    }
}

fn tcp(socket: &SocketAddr, limit: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(socket, limit)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Connecting to a unix socket blocks while the listener's backlog is full (a stopped API). The
/// send timeout, set before, bounds that.
fn unix(path: &Path, limit: Duration) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(limit))?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        Err(rustix::io::Errno::AGAIN) => Err(io::ErrorKind::TimedOut.into()),
        other => Ok(other.map(|()| UnixStream::from(socket))?),
    }
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        Err(io::ErrorKind::TimedOut.into())
    } else {
        Ok(left)
    }
}

/// A socket timeout surfaces as `WouldBlock`; callers want to see one word for it.
fn timed_out(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock {
        io::ErrorKind::TimedOut.into()
    } else {
        error
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = Some(left(self.deadline)?);
        let read = match &mut self.stream {
            Stream::Tcp(stream) => {
                stream.set_read_timeout(left)?;
                stream.read(buffer)
            }
            Stream::Unix(stream) => {
                stream.set_read_timeout(left)?;
                stream.read(buffer)
            }
        };
        read.map_err(timed_out)
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = Some(left(self.deadline)?);
        let written = match &mut self.stream {
            Stream::Tcp(stream) => {
                stream.set_write_timeout(left)?;
                stream.write(bytes)
            }
            Stream::Unix(stream) => {
                stream.set_write_timeout(left)?;
                stream.write(bytes)
            }
        };
        written.map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

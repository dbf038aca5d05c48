use std::io::{self, Read};
use std::time::Duration;

/// No answer of this API comes near these; whoever sends more is not this API.
const MAX_HEAD: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;
const MAX_BODY: usize = 4 * 1024 * 1024;
/// Interim answers (100 Continue) before the real one.
const MAX_INTERIM: usize = 4;

/// A response, read in full.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    pub(super) retry_after: Option<Duration>,
}

/// Why a response could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ResponseError {
    #[error("{}", super::io_error_text(.0))]
    Io(#[from] io::Error),
    #[error("the connection was closed before the answer was complete")]
    Truncated,
    #[error("{0}")]
    Malformed(String),
}

fn malformed<T>(what: &str) -> Result<T, ResponseError> {
    Err(ResponseError::Malformed(what.to_owned()))
}

/// Reads one response with a length, in chunks, or up to the end of the connection.
pub(super) fn read(source: impl Read) -> Result<Response, ResponseError> {
    let mut incoming = Incoming {
        source,
        bytes: Vec::new(),
        start: 0,
    };
    for _ in 0..MAX_INTERIM {
        let head = read_head(&mut incoming)?;
        if (100..200).contains(&head.status) {
            continue;
        }
        let body = read_body(&mut incoming, &head)?;
        return Ok(Response {
            status: head.status,
            body,
            retry_after: head.retry_after,
        });
    }
    malformed("too many interim answers")
}

struct Head {
    status: u16,
    length: Option<usize>,
    chunked: bool,
    retry_after: Option<Duration>,
}

fn read_head<R: Read>(incoming: &mut Incoming<R>) -> Result<Head, ResponseError> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(incoming.unread()) {
            Ok(httparse::Status::Complete(length)) => {
                let head = interpret(&response)?;
                incoming.skip(length);
                return Ok(head);
            }
            Ok(httparse::Status::Partial) if incoming.unread().len() >= MAX_HEAD => {
                return malformed("the head is larger than 16 KiB");
            }
            Ok(httparse::Status::Partial) => incoming.more()?,
            Err(error) => return malformed(&format!("not HTTP/1.1 ({error})")),
        }
    }
}

fn interpret(response: &httparse::Response<'_, '_>) -> Result<Head, ResponseError> {
    let mut head = Head {
        status: response.code.unwrap_or_default(),
        length: None,
        chunked: false,
        retry_after: None,
    };
    for header in response.headers.iter() {
        let value = std::str::from_utf8(header.value).unwrap_or_default().trim();
        if header.name.eq_ignore_ascii_case("content-length") {
            let length = value.parse().ok().filter(|length| *length <= MAX_BODY);
            head.length = match length {
                None => return malformed("the length of the body is no number up to 4 MiB"),
                some => some,
            };
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            head.chunked = value.eq_ignore_ascii_case("chunked");
            if !head.chunked {
                return malformed("an unknown transfer encoding");
            }
        } else if header.name.eq_ignore_ascii_case("retry-after") {
            head.retry_after = value.parse().ok().map(Duration::from_secs);
        }
    }
    Ok(head)
}

fn read_body<R: Read>(incoming: &mut Incoming<R>, head: &Head) -> Result<Vec<u8>, ResponseError> {
    match (head.status, head.chunked, head.length) {
        (204 | 304, _, _) => Ok(Vec::new()),
        (_, true, _) => read_chunks(incoming),
        (_, false, Some(length)) => incoming.take(length),
        (_, false, None) => incoming.rest(),
    }
}

fn read_chunks<R: Read>(incoming: &mut Incoming<R>) -> Result<Vec<u8>, ResponseError> {
    let mut body = Vec::new();
    loop {
        let size = read_chunk_size(incoming)?;
        if size == 0 {
            // Trailers, if any, follow; the connection is not used again, so they may stay.
            return Ok(body);
        }
        if size > MAX_BODY - body.len() {
            return malformed("the body is larger than 4 MiB");
        }
        body.append(&mut incoming.take(size)?);
        if incoming.take(2)? != b"\r\n" {
            return malformed("a chunk does not end where it says");
        }
    }
}

fn read_chunk_size<R: Read>(incoming: &mut Incoming<R>) -> Result<usize, ResponseError> {
    loop {
        match httparse::parse_chunk_size(incoming.unread()) {
            Ok(httparse::Status::Complete((length, size))) => {
                incoming.skip(length);
                return Ok(usize::try_from(size).unwrap_or(usize::MAX));
            }
            Ok(httparse::Status::Partial) if incoming.unread().len() < MAX_HEAD => {
                incoming.more()?;
            }
            _ => return malformed("the size of a chunk is no number"),
        }
    }
}

/// Bytes that have come and are not used yet, and the source of more.
struct Incoming<R> {
    source: R,
    bytes: Vec<u8>,
    start: usize,
}

impl<R: Read> Incoming<R> {
    fn unread(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    fn skip(&mut self, length: usize) {
        self.start += length;
    }

    /// Waits for at least one more byte.
    fn more(&mut self) -> Result<(), ResponseError> {
        if self.fill()? == 0 {
            Err(ResponseError::Truncated)
        } else {
            Ok(())
        }
    }

    fn fill(&mut self) -> Result<usize, ResponseError> {
        let mut block = [0; 4096];
        loop {
            match self.source.read(&mut block) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
                Ok(length) => {
                    self.bytes.extend_from_slice(&block[..length]);
                    return Ok(length);
                }
            }
        }
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>, ResponseError> {
        while self.unread().len() < length {
            self.more()?;
        }
        let taken = self.unread()[..length].to_vec();
        self.skip(length);
        Ok(taken)
    }

    fn rest(&mut self) -> Result<Vec<u8>, ResponseError> {
        while self.fill()? > 0 {
            if self.unread().len() > MAX_BODY {
                return malformed("the body is larger than 4 MiB");
            }
        }
        Ok(self.unread().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time, so that every boundary is met.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.0.len().min(1).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn both(text: &str) -> Result<Response, String> {
        let whole = read(text.as_bytes()).map_err(|error| error.to_string());
        let dripped = read(Drip(text.as_bytes())).map_err(|error| error.to_string());
        assert_eq!(whole, dripped, "{text}");
        whole
    }

    #[test]
    fn bodies_with_a_length_in_chunks_and_up_to_the_end_are_read() {
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        ] {
            let body = if text.ends_with("and more") {
                read(text.as_bytes())
            } else {
                Ok(both(text).unwrap())
            };
            assert_eq!(body.unwrap().body, b"hello", "{text}");
        }
        let empty = both("HTTP/1.1 204 No Content\r\nRetry-After: 3\r\n\r\n").unwrap();
        assert_eq!(empty.retry_after, Some(Duration::from_secs(3)));
        assert!(empty.body.is_empty());
    }

    #[test]
    fn what_is_cut_or_garbled_is_told_apart() {
        let closed = "the connection was closed before the answer was complete";
        for (text, reason) in [
            ("", closed),
            ("HTTP/1.1 200 OK\r\nContent-Le", closed),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", closed),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
                closed,
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                closed,
            ),
            (
                "SSH-2.0-OpenSSH_9.2\r\n",
                "not HTTP/1.1 (invalid HTTP version)",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                "the length of the body is no number up to 4 MiB",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
                "the length of the body is no number up to 4 MiB",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
                "an unknown transfer encoding",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                "the size of a chunk is no number",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
                "the body is larger than 4 MiB",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
                "a chunk does not end where it says",
            ),
        ] {
            assert_eq!(both(text).unwrap_err(), reason, "{text}");
        }
    }

    #[test]
    fn endless_answers_end() {
        let head = read(io::repeat(b'a').take(1 << 20))
            .unwrap_err()
            .to_string();
        assert!(head.starts_with("not HTTP/1.1"), "{head}");
        let header = b"HTTP/1.1 200 OK\r\nX: ".chain(io::repeat(b'a'));
        assert_eq!(
            read(header).unwrap_err().to_string(),
            "the head is larger than 16 KiB"
        );
        let body = b"HTTP/1.1 200 OK\r\n\r\n".chain(io::repeat(b'a'));
        assert_eq!(
            read(body).unwrap_err().to_string(),
            "the body is larger than 4 MiB"
        );
        let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(9);
        assert_eq!(both(&interim).unwrap_err(), "too many interim answers");
    }
}

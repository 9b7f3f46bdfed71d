//! Decompresses the frames of a zstd file, one after another.
//!
//! Every frame gets a fresh decoder. A reused decoder reserves the window size that the frame declares. A fresh one
//! grows with the decoded bytes, up to the 128 MiB that `zstd --decompress` allows, too.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Read};

/// Decompresses the bytes that it reads from `input`.
pub(super) struct Frames<R> {
    input: R,
    frame: Option<FrameDecoder>,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, frame: None }
    }

    pub(super) fn get_ref(&self) -> &R {
        &self.input
    }

    pub(super) fn get_mut(&mut self) -> &mut R {
        &mut self.input
    }

    /// Opens the next frame that has content; `None` at the end of the input.
    fn open(&mut self) -> io::Result<Option<FrameDecoder>> {
        while !self.input.fill_buf()?.is_empty() {
            let mut frame = FrameDecoder::new();
            match frame.reset(&mut self.input) {
                Ok(()) => return Ok(Some(frame)),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped =
                        io::copy(&mut (&mut self.input).take(length.into()), &mut io::sink())?;
                    if skipped < length.into() {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(other(&error)),
            }
        }
        Ok(None)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(frame) = &mut self.frame else {
                self.frame = self.open()?;
                if self.frame.is_none() {
                    return Ok(0);
                }
                continue;
            };
            if frame.can_collect() > 0 {
                return frame.read(buffer);
            }
            if !frame.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                frame.decode_blocks(&mut self.input, one).map_err(|error| other(&error))?;
                continue;
            }
            let found = frame.get_checksum_from_data();
            if found.is_some() && found != frame.get_calculated_checksum() {
                return Err(io::Error::other("content does not match its checksum"));
            }
            self.frame = None;
        }
    }
}

/// An error with the text of the decoder's. The decoder's own would link code that prints its parts to debug them.
fn other(error: &FrameDecoderError) -> io::Error {
    io::Error::other(error.to_string())
}

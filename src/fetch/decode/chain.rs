//! Layers of codings in a row, each drawing from the one before it.

use super::layer::Layer;
use super::{Coding, DecodeError};

/// Bytes between two layers.
const BETWEEN: usize = 16 * 1024;

/// What a call of [`Chain::read`] gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// This many bytes of output (more than none).
    Output(usize),
    /// All input was used up; more is needed.
    NeedInput,
    /// The body is whole; what may follow is to be ignored.
    End,
    /// An inner layer gave more than any honest body would.
    Excess,
}

struct Link {
    layer: Layer,
    /// Output of the layer before: buffer, bytes in it, bytes done with.
    buffer: Vec<u8>,
    filled: usize,
    at: usize,
    input_ended: bool,
}

/// All codings of one body, undone in one go.
pub struct Chain {
    links: Vec<Link>,
    inner_limit: u64,
}

impl Chain {
    /// A chain for codings in the order in which they were applied. `inner_limit`: bytes that
    /// a layer other than the last may give. `windows`: bytes that the windows of all layers may have.
    pub fn new(codings: &[Coding], inner_limit: u64, windows: usize) -> Chain {
        let most_window = windows / codings.len().max(1);
        let link = |coding: &Coding| Link {
            layer: Layer::new(*coding, most_window),
            buffer: Vec::new(),
            filled: 0,
            at: 0,
            input_ended: false,
        };
        Chain { links: codings.iter().rev().map(link).collect(), inner_limit }
    }

    /// Whether a layer's data were not coded as the header says.
    pub fn mislabelled(&self) -> bool {
        self.links.iter().any(|link| link.layer.mislabelled())
    }

    /// Whether the codings' own marks say that the body is whole, as far as it was decoded.
    pub fn is_complete(&self) -> bool {
        self.links.iter().all(|link| link.layer.is_complete() && link.at == link.filled)
    }

    /// How many codings there are.
    pub fn layers(&self) -> usize {
        self.links.len()
    }

    /// Bytes of decoder windows in use once `more` bytes have been decoded.
    pub fn window_bytes(&self, more: usize) -> usize {
        let touched = |layer: &Layer| layer.window().min((layer.produced() as usize).saturating_add(more));
        self.links.iter().map(|link| touched(&link.layer)).sum()
    }

    /// Decodes from `wire`, which is advanced, into `output`, which must not be empty.
    /// `last`: nothing follows what `wire` holds.
    ///
    /// # Errors
    /// Damaged data, or coded data that end early.
    pub fn read(&mut self, wire: &mut &[u8], last: bool, output: &mut [u8]) -> Result<Progress, DecodeError> {
        pull(&mut self.links, self.inner_limit, wire, last, output)
    }
}

fn pull(
    links: &mut [Link],
    inner_limit: u64,
    wire: &mut &[u8],
    last: bool,
    output: &mut [u8],
) -> Result<Progress, DecodeError> {
    let Some((link, before)) = links.split_last_mut() else {
        return Ok(Progress::End);
    };
    if link.layer.is_ended() {
        return Ok(Progress::End);
    }
    loop {
        let step = if before.is_empty() {
            let step = link.layer.decode(wire, last, output)?;
            *wire = &wire[step.consumed..];
            step
        } else {
            if link.at == link.filled && !link.input_ended {
                if before.iter().any(|earlier| earlier.layer.produced() > inner_limit) {
                    return Ok(Progress::Excess);
                }
                link.buffer.resize(BETWEEN, 0);
                (link.at, link.filled) = (0, 0);
                match pull(before, inner_limit, wire, last, &mut link.buffer)? {
                    Progress::Output(length) => link.filled = length,
                    Progress::End => link.input_ended = true,
                    other => return Ok(other),
                }
            }
            let step = link.layer.decode(&link.buffer[link.at..link.filled], link.input_ended, output)?;
            link.at += step.consumed;
            step
        };
        if step.produced > 0 {
            return Ok(Progress::Output(step.produced));
        }
        if link.layer.is_ended() {
            return Ok(Progress::End);
        }
        let (left, ended) =
            if before.is_empty() { (wire.len(), last) } else { (link.filled - link.at, link.input_ended) };
        if left > 0 && step.consumed == 0 {
            return Err(DecodeError::damaged("coded", "decoder makes no progress"));
        }
        if left == 0 && ended && step.consumed == 0 {
            link.layer.finish()?;
            return Ok(Progress::End);
        }
        if left == 0 && before.is_empty() && !last {
            return Ok(Progress::NeedInput);
        }
    }
}

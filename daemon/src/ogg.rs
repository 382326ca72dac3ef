//! Pages of Ogg (RFC 3533 §6), and the head of an Opus stream in them (RFC 7845 §5.1). Nothing is decoded.

/// The flag of a stream's first page.
pub const FIRST: u8 = 0x02;
/// A page's fixed members, in bytes.
pub const FIXED: usize = 27;
/// The position of a page on which no packet ends.
pub const NOWHERE: u64 = u64::MAX;
/// Opus counts time in 48,000ths of a second, whatever it was made from (RFC 7845 §4).
pub const RATE: u64 = 48_000;

/// What a page begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixed {
    /// [`FIRST`] and others.
    pub flags: u8,
    /// Samples until its end, or [`NOWHERE`].
    pub position: u64,
    /// Which stream it is of.
    pub serial: u32,
    /// How many lengths follow.
    pub segments: usize,
}

/// A whole page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// What it begins with.
    pub fixed: Fixed,
    /// A length for each segment; a packet goes on behind one of 255.
    pub lengths: &'a [u8],
    /// The segments.
    pub body: &'a [u8],
}

/// What an Opus stream says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpusHead {
    /// How many.
    pub channels: u8,
    /// Samples at the beginning that nobody hears.
    pub skipped: u16,
    /// Whether it is played as it is: with no gain to add, and its channels in their usual places.
    pub plain: bool,
}

/// What the page that begins here begins with; version 0 is the only one.
pub fn fixed(bytes: &[u8]) -> Option<Fixed> {
    let fixed = bytes.get(..FIXED).filter(|fixed| fixed.starts_with(b"OggS\0"))?;
    Some(Fixed {
        flags: fixed[5],
        position: u64::from_le_bytes(fixed[6..14].try_into().ok()?),
        serial: u32::from_le_bytes(fixed[14..18].try_into().ok()?),
        segments: usize::from(fixed[26]),
    })
}

/// The page that begins here, and what follows it.
pub fn page(bytes: &[u8]) -> Option<(Page<'_>, &[u8])> {
    let fixed = fixed(bytes)?;
    let (lengths, rest) = bytes[FIXED..].split_at_checked(fixed.segments)?;
    let (body, rest) = rest.split_at_checked(lengths.iter().map(|&length| usize::from(length)).sum())?;
    Some((Page { fixed, lengths, body }, rest))
}

/// The head that an Opus stream's first packet is.
pub fn opus_head(packet: &[u8]) -> Option<OpusHead> {
    let head = packet.get(..19).filter(|head| head.starts_with(b"OpusHead"))?;
    let skipped = u16::from_le_bytes([head[10], head[11]]);
    Some(OpusHead { channels: head[9], skipped, plain: head[16..19] == [0; 3] })
}

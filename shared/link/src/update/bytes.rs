//! Reading and writing of layouts with big-endian numbers.

/// What is left to read.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `count` bytes; [`None`] if there are fewer.
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(count)?;
        self.0 = tail;
        Some(head)
    }

    /// The next `N` bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// [`Some`] if nothing is left.
    pub(super) fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// Where fields are written, one after the other.
pub(super) struct Writer<'b> {
    bytes: &'b mut [u8],
    length: usize,
}

impl<'b> Writer<'b> {
    /// Into bytes that all fields fit.
    pub(super) fn new(bytes: &'b mut [u8]) -> Self {
        Self { bytes, length: 0 }
    }

    pub(super) fn put(&mut self, field: &[u8]) {
        self.bytes[self.length..][..field.len()].copy_from_slice(field);
        self.length += field.len();
    }

    /// How many bytes were written.
    pub(super) fn length(&self) -> usize {
        self.length
    }
}

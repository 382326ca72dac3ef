//! The style of a range of text: the set of its attributes, in order.
//!
//! Eight bytes, compared and copied like a number: a message may have tens of thousands of them.

/// One way in which text differs from plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attribute {
    /// The label of the link with this index.
    Link(usize),
    Strong,
    Emphasis,
    Strike,
    Code,
    /// Hidden until its reader reveals it.
    Spoiler,
}

/// The attributes of a range of text, outermost first, each kind at most once. A spoiler is always outermost, so that no
/// other mark splits it, and code always innermost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TextStyle {
    /// Four bits per attribute, the outermost in the lowest: its kind. Zero after the last one.
    kinds: u32,
    /// Index of the link, if there is one.
    link: u32,
}

const BITS_PER_KIND: u32 = 4;
const KIND_MASK: u32 = 0xf;

const LINK: u32 = 1;
const STRONG: u32 = 2;
const EMPHASIS: u32 = 3;
const STRIKE: u32 = 4;
const CODE: u32 = 5;
const SPOILER: u32 = 6;

impl TextStyle {
    /// No attribute.
    pub(crate) const PLAIN: Self = Self { kinds: 0, link: 0 };

    /// Keeps the first attribute of each kind, and moves a spoiler outermost and code innermost.
    pub(crate) fn new(attributes: impl IntoIterator<Item = Attribute>) -> Self {
        let mut style = Self::default();
        let (mut has_code, mut has_spoiler) = (false, false);
        for attribute in attributes {
            has_code |= attribute == Attribute::Code;
            has_spoiler |= attribute == Attribute::Spoiler;
            if !matches!(attribute, Attribute::Code | Attribute::Spoiler) {
                style.add(attribute);
            }
        }
        if has_spoiler {
            style.kinds = style.kinds << BITS_PER_KIND | SPOILER;
        }
        if has_code {
            style.add(Attribute::Code);
        }
        style
    }

    fn add(&mut self, attribute: Attribute) {
        if self.position(attribute.kind()).is_some() {
            return;
        }
        if let Attribute::Link(link) = attribute {
            // More links than this would need more than four gigabytes of text.
            self.link = u32::try_from(link).unwrap_or(u32::MAX);
        }
        self.kinds |= attribute.kind() << (BITS_PER_KIND * self.len());
    }

    #[inline]
    fn len(self) -> u32 {
        (u32::BITS - self.kinds.leading_zeros()).div_ceil(BITS_PER_KIND)
    }

    /// How many attributes are outside the one of `kind`.
    #[inline]
    fn position(self, kind: u32) -> Option<u32> {
        (0..self.len()).find(|at| (self.kinds >> (BITS_PER_KIND * at)) & KIND_MASK == kind)
    }

    #[inline]
    pub(crate) fn is_plain(self) -> bool {
        self.kinds == 0
    }

    #[inline]
    pub(crate) fn is_spoiler(self) -> bool {
        self.kinds & KIND_MASK == SPOILER
    }

    /// Whether code is its only attribute.
    #[inline]
    pub(crate) fn is_only_code(self) -> bool {
        self.kinds == CODE
    }

    /// All attributes, outermost first.
    #[inline]
    pub(crate) fn attributes(self) -> impl DoubleEndedIterator<Item = Attribute> + ExactSizeIterator {
        self.attributes_from(0)
    }

    /// The attributes without the `skipped` outermost ones.
    #[inline]
    pub(crate) fn attributes_from(
        self,
        skipped: usize,
    ) -> impl DoubleEndedIterator<Item = Attribute> + ExactSizeIterator {
        let kind = move |at: usize| (self.kinds >> (BITS_PER_KIND as usize * at)) & KIND_MASK;
        (skipped..self.len() as usize).map(move |at| match kind(at) {
            LINK => Attribute::Link(self.link as usize),
            STRONG => Attribute::Strong,
            EMPHASIS => Attribute::Emphasis,
            STRIKE => Attribute::Strike,
            SPOILER => Attribute::Spoiler,
            _ => Attribute::Code,
        })
    }

    /// How many of the outermost attributes two styles share: those stay open from one range to the next.
    #[inline]
    pub(crate) fn common_prefix(self, other: Self) -> usize {
        let same = (self.kinds ^ other.kinds).trailing_zeros() / BITS_PER_KIND;
        let same = same.min(self.len()).min(other.len());
        let same = match self.link == other.link {
            true => same,
            false => self.position(LINK).map_or(same, |link| link.min(same)),
        };
        same as usize
    }

    #[inline]
    pub(crate) fn has(self, attribute: Attribute) -> bool {
        match attribute {
            Attribute::Link(link) => self.link() == Some(link),
            attribute => self.position(attribute.kind()).is_some(),
        }
    }

    /// Index of the link that the text belongs to.
    #[inline]
    pub(crate) fn link(self) -> Option<usize> {
        self.position(LINK).map(|_| self.link as usize)
    }

    /// The same style with another link, or without one.
    pub(crate) fn with_link(self, link: Option<usize>) -> Self {
        Self::new(self.attributes().filter_map(|attribute| match attribute {
            Attribute::Link(_) => link.map(Attribute::Link),
            attribute => Some(attribute),
        }))
    }
}

impl Attribute {
    fn kind(self) -> u32 {
        match self {
            Self::Link(_) => LINK,
            Self::Strong => STRONG,
            Self::Emphasis => EMPHASIS,
            Self::Strike => STRIKE,
            Self::Code => CODE,
            Self::Spoiler => SPOILER,
        }
    }

    pub(crate) fn is_link(&self) -> bool {
        matches!(self, Self::Link(_))
    }
}

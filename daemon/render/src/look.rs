//! How a stretch of text looks.
//!
//! Eight bytes, compared and copied like a number: a message has tens of thousands of them.

/// One way in which text differs from its surroundings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// The label of the link with this index.
    Link(usize),
    Strong,
    Emphasis,
    Strike,
    Code,
    /// Hidden until its reader asks for it.
    Spoiler,
}

/// How a stretch of text looks: its tags, outermost first, each kind at most once; a spoiler is outermost, so that nothing
/// inside it takes it apart, and code innermost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Look {
    /// Four bits for each tag, outermost lowest: what kind it is; zero behind the last.
    kinds: u32,
    /// Index of the link, where there is one.
    link: u32,
}

const LINK: u32 = 1;
const STRONG: u32 = 2;
const EMPHASIS: u32 = 3;
const STRIKE: u32 = 4;
const CODE: u32 = 5;
const SPOILER: u32 = 6;

impl Look {
    /// Nothing special.
    pub(super) const PLAIN: Self = Self { kinds: 0, link: 0 };

    /// The first of each kind of tag; a spoiler is outermost, code innermost.
    pub(super) fn new(tags: impl IntoIterator<Item = Tag>) -> Self {
        let mut look = Self::default();
        let (mut code, mut spoiler) = (false, false);
        for tag in tags {
            code |= tag == Tag::Code;
            spoiler |= tag == Tag::Spoiler;
            if !matches!(tag, Tag::Code | Tag::Spoiler) {
                look.add(tag);
            }
        }
        if spoiler {
            look.kinds = look.kinds << 4 | SPOILER;
        }
        if code {
            look.add(Tag::Code);
        }
        look
    }

    fn add(&mut self, tag: Tag) {
        if self.place(tag.kind()).is_some() {
            return;
        }
        if let Tag::Link(link) = tag {
            // A text with more links than this has more than four gigabytes.
            self.link = u32::try_from(link).unwrap_or(u32::MAX);
        }
        self.kinds |= tag.kind() << (4 * self.len());
    }

    #[inline]
    fn len(self) -> u32 {
        (u32::BITS - self.kinds.leading_zeros()).div_ceil(4)
    }

    /// How many tags are outside that of `kind`.
    #[inline]
    fn place(self, kind: u32) -> Option<u32> {
        (0..self.len()).find(|place| (self.kinds >> (4 * place)) & 0xf == kind)
    }

    /// Whether nothing is special about it.
    #[inline]
    pub(super) fn is_plain(self) -> bool {
        self.kinds == 0
    }

    /// Whether it is hidden until its reader asks for it.
    #[inline]
    pub(super) fn is_spoiler(self) -> bool {
        self.kinds & 0xf == SPOILER
    }

    /// Whether nothing but being code is special about it.
    #[inline]
    pub(super) fn is_code(self) -> bool {
        self.kinds == CODE
    }

    #[inline]
    pub(super) fn tags(self) -> impl DoubleEndedIterator<Item = Tag> + ExactSizeIterator {
        self.tags_within(0)
    }

    /// The tags inside the outermost so many.
    #[inline]
    pub(super) fn tags_within(
        self,
        outer: usize,
    ) -> impl DoubleEndedIterator<Item = Tag> + ExactSizeIterator {
        (outer..self.len() as usize).map(move |place| match (self.kinds >> (4 * place)) & 0xf {
            LINK => Tag::Link(self.link as usize),
            STRONG => Tag::Strong,
            EMPHASIS => Tag::Emphasis,
            STRIKE => Tag::Strike,
            SPOILER => Tag::Spoiler,
            _ => Tag::Code,
        })
    }

    /// How many of the outermost tags two looks have in common.
    #[inline]
    pub(super) fn shared(self, other: Self) -> usize {
        let same = (self.kinds ^ other.kinds).trailing_zeros() / 4;
        let same = same.min(self.len()).min(other.len());
        let same = match self.link == other.link {
            true => same,
            false => self.place(LINK).map_or(same, |link| link.min(same)),
        };
        same as usize
    }

    #[inline]
    pub(super) fn has(self, tag: Tag) -> bool {
        match tag {
            Tag::Link(link) => self.link() == Some(link),
            tag => self.place(tag.kind()).is_some(),
        }
    }

    /// Index of the link that the text belongs to.
    #[inline]
    pub(super) fn link(self) -> Option<usize> {
        self.place(LINK).map(|_| self.link as usize)
    }

    /// The same with another link, or none.
    pub(super) fn with_link(self, link: Option<usize>) -> Self {
        Self::new(self.tags().filter_map(|tag| match tag {
            Tag::Link(_) => link.map(Tag::Link),
            tag => Some(tag),
        }))
    }
}

impl Tag {
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
}

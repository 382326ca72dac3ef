//! The texts that are measured: the same in every run, and like what agents write.

use std::fmt::Write as _;

const WORDS: &[&str] = &[
    "the",
    "queue",
    "of",
    "messages",
    "holds",
    "what",
    "an",
    "agent",
    "wants",
    "to",
    "send",
    "until",
    "somebody",
    "has",
    "read",
    "it",
    "on",
    "a",
    "small",
    "screen",
    "and",
    "pressed",
    "one",
    "button",
    "or",
    "other",
    "report",
    "deployment",
    "failed",
    "because",
    "certificate",
    "expired",
    "yesterday",
    "at",
    "noon",
    "please",
    "restart",
    "service",
    "then",
    "check",
    "logs",
    "again",
    "with",
    "more",
    "patience",
    "than",
    "before",
    "in",
    "we",
    "see",
];
const WIDE: &[&str] = &[
    "消息在发送之前必须得到批准。",
    "送信する前に承認が必要です。",
    "보내기 전에 승인이 필요합니다. ",
    "这是一个很长的句子，没有空格。",
    "設定ファイルを確認してください。",
];
const EMOJI: &[&str] = &["✅", "🚀", "👩‍💻", "🇪🇺", "⚠️", "👨‍👩‍👧‍👦", "1️⃣"];

/// Pseudo-random numbers (xorshift64), the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| self.pick(WORDS)).collect::<Vec<_>>().join(" ")
    }

    fn sentence(&mut self) -> String {
        let count = 4 + self.below(14);
        let mut sentence = self.words(count);
        sentence[..1].make_ascii_uppercase();
        sentence.push_str(self.pick(&[".", ".", ".", "?", "!"]));
        sentence
    }

    fn paragraph(&mut self) -> String {
        let count = 2 + self.below(6);
        (0..count).map(|_| self.sentence()).collect::<Vec<_>>().join(" ")
    }
}

/// ASCII prose: paragraphs of some sentences, each on one line, an empty line between them.
pub(crate) fn prose(bytes: usize) -> String {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut text = String::with_capacity(bytes + 1000);
    while text.len() < bytes {
        text.push_str(&dice.paragraph());
        text.push_str("\n\n");
    }
    text.truncate(bytes);
    text
}

/// Markdown as agents write it: headings, prose with styles and links, lists, tables, code, quotes, Chinese, Japanese,
/// Korean and emoji. About `bytes` long, and whole at its end.
pub(crate) fn mixed(bytes: usize) -> String {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut text = String::with_capacity(bytes + 4000);
    while text.len() < bytes {
        let block = match dice.below(12) {
            0 => heading(&mut dice),
            1 => list(&mut dice),
            2 => table(&mut dice),
            3 => code(&mut dice),
            4 => format!("> {}\n> {}", dice.paragraph(), dice.sentence()),
            5 => wide(&mut dice),
            6 => format!("{} {} {}", dice.pick(EMOJI), dice.paragraph(), dice.pick(EMOJI)),
            _ => styled(&mut dice),
        };
        text.push_str(&block);
        text.push_str("\n\n");
    }
    text
}

fn heading(dice: &mut Dice) -> String {
    format!("{} {}", "#".repeat(1 + dice.below(4)), dice.words(4))
}

fn styled(dice: &mut Dice) -> String {
    format!(
        "{} **{}** {} [{}](https://example.org/{}/{}?page={}) {} `{}` and *{}*, ~~{}~~. {}",
        dice.sentence(),
        dice.words(2),
        dice.sentence(),
        dice.words(2),
        dice.pick(WORDS),
        dice.pick(WORDS),
        dice.below(1000),
        dice.words(5),
        dice.pick(WORDS),
        dice.words(2),
        dice.words(1),
        dice.paragraph(),
    )
}

fn list(dice: &mut Dice) -> String {
    let mut items = String::new();
    for number in 1..=3 + dice.below(6) {
        let mark = if dice.below(2) == 0 { "- ".to_owned() } else { format!("{number}. ") };
        let indent = " ".repeat(2 * dice.below(3) * usize::from(number > 1));
        let task = dice.pick(&["", "", "[x] ", "[ ] "]);
        let _ = writeln!(items, "{indent}{mark}{task}{}", dice.sentence());
    }
    items.truncate(items.trim_end().len());
    items
}

fn table(dice: &mut Dice) -> String {
    let mut rows = String::from("| name | state | count | note |\n|---|:-:|---:|---|");
    for _ in 0..3 + dice.below(12) {
        let (name, state, note) = (dice.words(1), dice.pick(EMOJI), dice.words(5));
        let _ = write!(rows, "\n| {name} | {state} | {} | {note} |", dice.below(100_000));
    }
    rows
}

fn code(dice: &mut Dice) -> String {
    let mut block = format!("```{}\n", dice.pick(&["rust", "python", "", "json"]));
    for number in 0..4 + dice.below(20) {
        let indent = " ".repeat(4 * dice.below(4));
        let _ = writeln!(
            block,
            "{indent}let {}_{number} = {}(&{}, {number});",
            dice.pick(WORDS),
            dice.pick(WORDS),
            dice.pick(WORDS)
        );
    }
    block + "```"
}

fn wide(dice: &mut Dice) -> String {
    let count = 3 + dice.below(8);
    (0..count).map(|_| dice.pick(WIDE)).collect()
}

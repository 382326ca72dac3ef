//! Markdown that renderers fall over, the same in every run.
//!
//! [`lessons`] are the documents that other systems are known to have broken; [`nasty`] makes any number of others from
//! what breaks splitters: containers in containers, marks left open, signs that a platform would obey, text of which one
//! character is many units.

/// The five lessons that the renderer's golden files show for all channels, each with its name.
pub fn lessons() -> Vec<(&'static str, String)> {
    let rows: String = (1..=6)
        .map(|n| format!("| pump *{n}* | {}.5 bar | [log](https://a.example/{n}) |\n", n * 3))
        .collect();
    let table = format!(
        "Readings of **today**:\n\n| Name | Pressure | More |\n|---|---|---|\n{rows}\nThat is all_of_it."
    );
    let quote = "> She wrote **this**:\n>\n> - first & foremost\n> - then\n>   1. deeper\n>\n> ```sh\n\
                 > echo \"a < b\" *x*\n> ```\n>\n> > and somebody before her\n\nI agree with 2 * 3 = 6, @everyone.\n\n\
                 - item\n\n  > quote in it\n\n  ```\n  code in it\n  ```\n";
    let bracket = format!("[see **the {}", "several more words ".repeat(14));
    let code: String = (1..=200).map(|n| format!("    let line_{n} = *call({n});\n")).collect();
    let steps: String = (1..=8).map(|n| format!("echo step {n}\n")).collect();
    vec![
        ("table", table),
        ("quote", quote.to_owned()),
        ("bracket", bracket),
        ("code", format!("Here:\n\n```rust\n{code}```\n\nDone.")),
        (
            "fence",
            format!(
                "A fence in a fence:\n\n````markdown\n# Title\n\n```sh\n{steps}```\n````\n\nAnd `` a`b ``."
            ),
        ),
    ]
}

/// The `n`th nasty document.
pub fn nasty(n: u64) -> String {
    let mut dice = Dice::new(n);
    let mut lines = Vec::new();
    for _ in 0..1 + dice.below(4) {
        lines.extend(block(&mut dice, 0));
        lines.push(String::new());
    }
    if dice.one_in(6) {
        lines.push(
            dice.pick(&["```", "~~~sh", "> ```", "- ````", "[", "**", "<!--", "| a | b |\n|---|---|"])
                .to_owned(),
        );
        lines.extend(code(&mut dice));
    }
    lines.join(if dice.one_in(12) { "\r\n" } else { "\n" })
}

/// Pseudo-random numbers (splitmix64).
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 33).expect("31 bits fit") % end
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// What stands in running text.
const INLINE: &[&str] = &[
    "word",
    "several words of prose.",
    "A sentence ends here. Another one begins",
    "**bold**",
    "*italic **both** italic*",
    "***all***",
    "~~gone **for good**~~",
    "||hidden||",
    "||hidden **and `bold`** too||",
    "||[a hidden](https://a.example) link||",
    "a || b ||c",
    "||`x || y` \\|||",
    "_under_",
    "snake_case_name",
    "2 * 3 = 6",
    "`code`",
    "`` a`b ``",
    "`<b>&amp;</b>`",
    "`@everyone <!channel> *x* _y_ ~z~`",
    "**`bold code`**",
    "*`",
    "[a link](https://a.example/path?x=1&y=2)",
    "[a *styled* link](https://a.example/a_b_c \"its title\")",
    "[**`code`** link](<https://a.example/with space>)",
    "[script](javascript:alert(1))",
    "[](https://bare.example)",
    "[mail](mailto:me@a.example)",
    "[brackets [in] it](https://a.example/(x))",
    "[nas](http://nas:5000/photos)",
    "[a port that is none](https://a.example:99999/)",
    "[no host](https:///x)",
    "[no slashes](https:a.example)",
    "[shouting](HTTPS://A.EXAMPLE/ÄÖ?q=%zz)",
    "<https://münchen.example/ü>",
    "[six](http://[::1]:8123/)",
    "[a \"quoted\" & 'signed' one](https://a.example/'\"&amp;)",
    "[pipe | and > sign](https://a.example/?q=|<>)",
    "<https://auto.example/a*b_c~d>",
    "https://bare.example/x_y_z?a=*b*",
    "<me@a.example>",
    "![an image](https://i.example/x.png)",
    "![](https://i.example/y.png)",
    "[![alt](https://i.example)](https://l.example \"t\")",
    "a note[^1]",
    "<&>",
    "a < b && c > d",
    "<b>raw</b>",
    "<script>alert(\"x\")</script>",
    "<!channel>",
    "<!here|here>",
    "<!-- hidden -->",
    "<@U012ABCDEF>",
    "<@123456789012345678>",
    "<@!123456789012345678>",
    "<@&123456789012345678>",
    "<#123456789012345678>",
    "<users/all>",
    "<https://evil.example|label>",
    "@everyone",
    "@here and @room",
    "&amp; &lt;b&gt; &copy; &#64;everyone &nosuch;",
    "&",
    "[unclosed",
    "](",
    "![",
    "**",
    "__open",
    "~~open",
    "`open",
    "*",
    "_",
    "~",
    "\\*escaped\\* \\< \\& \\[ \\`",
    "C:\\dir\\*.txt\\",
    "~/.config/*_~",
    "👩‍💻",
    "👨‍👩‍👧‍👦 🇪🇺 1️⃣ ⚠️",
    "**🦀🦀**",
    "مرحبا **بالعالم** 123",
    "שלום [עולם](https://il.example)",
    "\u{202e}turned\u{202c}",
    "\u{2067}isolated\u{2069}",
    "e\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}\u{307}",
    "Z\u{0351}\u{036b}\u{0343}a\u{0324}l\u{0347}g\u{0317}o",
    "消息在发送之前必须得到批准。",
    "**送信**する前に",
    "non\u{a0}breaking\u{202f}space",
    "zero\u{200b}width\u{2060}joiner\u{feff}",
    "soft\u{ad}hyphen",
    "a\ttab",
    "bell\u{7} escape\u{1b}[31m delete\u{7f} null\u{0}",
    "next\u{85}line separator\u{2028}paragraph\u{2029}nobody\u{fffe}",
    "tail  ",
    "slash\\",
    "averyverylongwordthatnobodywouldeverwriteinamessagebutthatalogfileisfullofandthatmustbecutsomewhere",
    "# no heading",
    "- no item",
    "1. no number",
    "> no quote",
    "+ plus",
    "=====",
    "| bar |",
];

/// A line of running text.
fn inline(dice: &mut Dice, most: usize) -> String {
    let mut line = String::new();
    for n in 0..1 + dice.below(most) {
        if n > 0 && !dice.one_in(8) {
            line.push(' ');
        }
        line.push_str(dice.pick(INLINE));
    }
    line
}

/// The lines of one block; those that hold others go `depth` on.
fn block(dice: &mut Dice, depth: usize) -> Vec<String> {
    if depth < 5 && dice.below(10) < 4 {
        return if dice.one_in(2) { quote(dice, depth) } else { list(dice, depth) };
    }
    match dice.below(12) {
        0 => vec![format!("{} {}", "#".repeat(1 + dice.below(6)), inline(dice, 5))],
        1 | 2 => fence(dice),
        3 => table(dice),
        4 => vec![dice.pick(&["---", "***", "* * *"]).to_owned()],
        5 => vec![
            "<div class=\"x\">".to_owned(),
            inline(dice, 4),
            dice.pick(&["</div>", "<p>", "<br/>"]).to_owned(),
        ],
        6 => vec![format!("[^1]: {}", inline(dice, 6))],
        7 => code(dice).into_iter().map(|line| format!("    {line}")).collect(),
        8 => vec![inline(dice, 3), dice.pick(&["===", "---"]).to_owned()],
        _ => (0..1 + dice.below(4)).map(|_| inline(dice, 12)).collect(),
    }
}

fn quote(dice: &mut Dice, depth: usize) -> Vec<String> {
    let mut lines = blocks(dice, depth);
    if dice.one_in(4) {
        lines.pop();
        // Belongs to the quote all the same, if it ends in a paragraph.
        let mut quoted: Vec<_> = lines.iter().map(|line| format!("> {line}")).collect();
        quoted.push(inline(dice, 4));
        return quoted;
    }
    lines.iter().map(|line| format!(">{}{line}", if line.is_empty() { "" } else { " " })).collect()
}

fn list(dice: &mut Dice, depth: usize) -> Vec<String> {
    let start = dice.below(120);
    let bullet = dice.pick(&["- ", "* ", "+ ", "- [ ] ", "- [x] ", "1", "1"]);
    let mut lines = Vec::new();
    for n in 0..1 + dice.below(5) {
        let mark = if bullet == "1" { format!("{}. ", start + n) } else { bullet.to_owned() };
        let indent = if bullet == "1" { mark.len() } else { 2 };
        let inner = if dice.one_in(3) { blocks(dice, depth) } else { vec![inline(dice, 6)] };
        for (k, line) in inner.iter().enumerate() {
            lines.push(if k == 0 {
                format!("{mark}{line}")
            } else {
                format!("{}{line}", " ".repeat(indent))
            });
        }
    }
    lines
}

/// What a container holds.
fn blocks(dice: &mut Dice, depth: usize) -> Vec<String> {
    let mut lines = block(dice, depth + 1);
    for _ in 0..dice.below(3) {
        lines.push(String::new());
        lines.extend(block(dice, depth + 1));
    }
    lines
}

fn fence(dice: &mut Dice) -> Vec<String> {
    let mark = dice.pick(&["```", "```", "````", "~~~", "~~~~~"]);
    let mut lines =
        vec![format!("{mark}{}", dice.pick(&["", "rust", "sh", "c++ no_run", "\"<&>", "日本語"]))];
    lines.extend(code(dice).into_iter().filter(|line| !line.starts_with(mark)));
    lines.push(mark.to_owned());
    lines
}

fn code(dice: &mut Dice) -> Vec<String> {
    const CODE: &[&str] = &[
        "fn main() { println!(\"<{}>&\", 1 & 2); }",
        "    if a < b && c > d { *x = y_z; }",
        "\tindented with a tab",
        "",
        "",
        "```",
        "~~~",
        "> no quote",
        "# no heading",
        "echo '@everyone <!channel> <@U1>' # **x** ~y~ `z`",
        "日本語のコード 👩‍💻 e\u{301}",
        "}",
        "https://a.example/a_very_long_address/that/goes/on/and/on/and/has/no/place/to/break/it/at/all/x=y&z=<w>",
    ];
    (0..1 + dice.below(12)).map(|_| dice.pick(CODE).to_owned()).collect()
}

fn table(dice: &mut Dice) -> Vec<String> {
    let columns = 1 + dice.below(4);
    let row = |dice: &mut Dice| {
        let cells: String = (0..columns)
            .map(|_| {
                let cell = if dice.one_in(6) { String::new() } else { inline(dice, 2) };
                format!(" {} |", cell.replace('|', "\\|"))
            })
            .collect();
        format!("|{cells}")
    };
    let mut lines = vec![row(dice), format!("|{}", " :-: |".repeat(columns))];
    lines.extend((0..1 + dice.below(14)).map(|_| row(dice)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_document_is_always_the_same_and_no_other() {
        assert_eq!(nasty(7), nasty(7));
        let mut all: Vec<_> = (0..500).map(nasty).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 500);
    }

    #[test]
    fn every_piece_of_running_text_is_in_some_document() {
        let all: String = (0..800).map(nasty).collect();
        for piece in INLINE {
            assert!(all.contains(piece), "{piece:?}");
        }
    }
}

//! Which lines of a mail are its author's own, and which repeat another mail.
//!
//! Whoever forwards or quotes a stranger's mail did not write it: an agent that took it for theirs would do what the stranger says.
//! What is not the author's is put behind `>` where it stands, and nothing is left out. In doubt a line is somebody else's: from the
//! head of another mail on everything is.
//!
//! The words that mail programs use are known for some languages alone. For all others the form must do: lines with a label each, one
//! of which names a mailbox that is neither the account's nor the author's.

use super::{
    author::Owner,
    words::{ATTRIBUTION_LINES, is_rule, is_separator},
};

/// The line above another mail, where the markup alone marks it.
pub(super) const ORIGINAL: &str = "-----Original Message-----";
/// Lines in which the head of another mail names its author, and something else.
const HEAD_LINES: usize = 4;
/// Lines that are the head of another mail in any language, and how many are looked at.
const ANY_HEAD_LINES: usize = 3;
const MOST_HEAD_LINES: usize = 8;
/// The longest prefix of a subject in a language that is not known, in characters: "Továbbítás" has ten.
const MAX_PREFIX: usize = 12;
/// The longest label of a line of a head, and prefix of a subject, in bytes.
const MAX_LABEL: usize = 40;
/// Dashes that programs put around what they forward; around what is answered Outlook puts five.
const FORWARD_DASHES: &str = "------";

/// What a forwarded mail's subject begins with, as mail programs of these languages write it.
const FORWARDS: &str = "fwd|fw|wg|tr|rv|enc|i|vb|vl|pd|doorst|fs|ilt|továbbítás|转发|轉寄|转寄|転送";
/// Words of the line above it.
const FORWARDED: &str = "forwarded|weitergeleit|transféré|message transmis|réexpédié|reenviad|encaminhad|inoltrat|doorgestuurd|doorgezonden|\
    vidarebefordra|videresend|przekazan|välitetty|пересылаем|пересланн|iletilen|转发|轉寄|転送";
/// What names the author in the head of another mail.
const FROM: &str = "from|von|de|da|van|från|fra|od|от|lähettäjä|feladó|kimden|gönderen|expéditeur|mittente|发件人|寄件者|差出人|보낸 사람";
/// What stands beside it.
const BESIDE: &str = "sent|date|to|subject|cc|reply-to|gesendet|datum|an|betreff|envoyé|à|a|objet|enviado|enviado el|enviada em|enviado em|\
    fecha|data|para|asunto|assunto|inviato|oggetto|verzonden|aan|onderwerp|skickat|till|ämne|sendt|til|emne|dato|wysłano|\
    do|dla|temat|lähetetty|vastaanottaja|aihe|отправлено|дата|кому|тема|gönderildi|tarih|kime|konu|odesláno|komu|předmět|\
    发送时间|日期|收件人|主题|送信日時|日付|宛先|件名|보낸 날짜|받는 사람|제목";
/// "wrote", which ends the line above a quotation that has no `>`.
const WROTE: &str = "wrote|schrieb|a écrit|escribió|escreveu|ha scritto|schreef|skrev|kirjoitti|napisał|napsal|írta|писал|пишет|yazdı|写道|\
    寫道|書きました|작성";

/// Those whose mailboxes are no sign of another mail.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parties<'a> {
    pub(super) owner: &'a Owner,
    /// Who wrote the mail.
    pub(super) author: Option<&'a str>,
}

impl Parties<'_> {
    fn has(self, address: &str) -> bool {
        self.owner.is(address)
            || self.author.is_some_and(|author| author.trim().eq_ignore_ascii_case(address))
    }

    /// Whether a mailbox of somebody else's stands here in brackets, as it does behind a name: `Eve <eve@evil.test>`.
    fn miss_one_in_brackets(self, text: &str) -> bool {
        let inner = |rest: &'_ str| rest.split(['>', ']']).next().unwrap_or_default().to_owned();
        text.split(['<', '[']).skip(1).map(inner).any(|inner| self.miss_one(&inner))
    }

    /// Whether a mailbox of somebody else's stands here.
    fn miss_one(self, text: &str) -> bool {
        mailboxes(text).any(|address| !self.has(address))
    }
}

/// A text whose lines that are not its author's stand behind `>`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marked {
    pub(super) text: String,
    /// Those lines alone, without it.
    pub(super) theirs: String,
    /// Whether some are of another mail than the one that is answered, or may be.
    pub(super) handed_on: bool,
}

/// Marks what is not the author's own.
pub(super) fn mark(text: &str, parties: Parties<'_>) -> Marked {
    let lines: Vec<&str> = text.lines().collect();
    let mut marked = Marked::default();
    let (mut own, mut theirs) = (Vec::with_capacity(lines.len()), Vec::new());
    // Up to which line, exclusive, all are somebody else's.
    let mut until = 0;
    for (n, line) in lines.iter().enumerate() {
        if n >= until && !line.trim_start().starts_with('>') {
            if begins_another(&lines[n..], parties) {
                (until, marked.handed_on) = (lines.len(), true);
            } else if let Some(length) = attribution(&lines[n..], parties) {
                until = n + length;
                marked.handed_on |= names_another(&lines[n..until], parties.owner);
            }
        }
        let line = line.trim();
        let quoted = line.strip_prefix('>').map(str::trim_start);
        if n >= until && quoted.is_none() {
            own.push(lines[n].to_owned());
            continue;
        }
        // What the quoted mail itself quotes is of a third.
        marked.handed_on |= quoted.is_some_and(|quoted| quoted.starts_with('>'));
        own.push(if quoted.is_some() || line.is_empty() { line.to_owned() } else { format!("> {line}") });
        theirs.push(quoted.unwrap_or(line));
    }
    (marked.text, marked.theirs) = (own.join("\n"), theirs.join("\n").trim().to_owned());
    marked
}

/// Whether a text hands on another mail, by what mail programs write above one.
pub(super) fn forwards(text: &str) -> bool {
    text.lines().map(str::trim).any(is_forward)
}

fn is_forward(line: &str) -> bool {
    let is_dashed = is_separator(line) && !is_armour(line);
    let named = || {
        let line = line.to_lowercase();
        FORWARDED.split('|').any(|word| line.contains(word))
    };
    // Apple's has no dashes: "Begin forwarded message:".
    (is_dashed && (line.starts_with(FORWARD_DASHES) || named()))
        || (line.len() <= 2 * MAX_LABEL && line.ends_with([':', '：']) && named())
}

/// Whether a subject says that the mail is forwarded.
pub(super) fn is_forwards_subject(subject: &str) -> bool {
    label(subject).is_some_and(|label| is_among(FORWARDS, &label))
}

/// Whether a mail that answers none is forwarded by its form: a subject with a prefix of any language, and below it a mailbox of somebody
/// else's, behind a name or a label.
pub(super) fn may_forward(subject: &str, text: &str, parties: Parties<'_>) -> bool {
    let is_prefix = |label: String| !label.contains(' ') && label.chars().count() <= MAX_PREFIX;
    let names =
        |line: &str| parties.miss_one_in_brackets(line) || (is_labelled(line) && parties.miss_one(line));
    label(subject).is_some_and(is_prefix) && text.lines().any(|line| names(line.trim()))
}

/// Whether a subject has a prefix such as "Re:", in any language.
pub(super) fn is_answers_subject(subject: &str) -> bool {
    label(subject).is_some_and(|label| !label.contains(' '))
}

/// Whether a word is one of these.
fn is_among(words: &str, word: &str) -> bool {
    words.split('|').any(|one| one == word)
}

/// What stands before a colon, in lower case.
fn label(line: &str) -> Option<String> {
    let (label, _) = line.split_once([':', '：'])?;
    let label = label.trim_matches(|c: char| c.is_whitespace() || c == '*');
    (!label.is_empty() && label.len() <= MAX_LABEL).then(|| label.to_lowercase())
}

/// Whether another mail begins here that has no `>`.
fn begins_another(lines: &[&str], parties: Parties<'_>) -> bool {
    let Some(line) = lines.first().map(|line| line.trim()) else { return false };
    let heads_next = || lines.get(1).is_some_and(|next| next.contains(':'));
    (is_separator(line) && !is_armour(line))
        || (is_rule(line) && heads_next())
        || is_forward(line)
        || is_head(lines)
        || (!line.is_empty() && is_any_head(lines, parties))
        || wrote(lines, parties)
}

/// What OpenPGP puts around the author's own words (RFC 9580 §6.2).
fn is_armour(line: &str) -> bool {
    line.starts_with("-----BEGIN ") || line.starts_with("-----END ")
}

/// Whether these begin with the head of another mail: who wrote it, and when or to whom.
fn is_head(lines: &[&str]) -> bool {
    let labels: Vec<String> = lines.iter().take(HEAD_LINES).map_while(|line| label(line.trim())).collect();
    let has = |words: &str| labels.iter().any(|label| is_among(words, label));
    let begins = labels.first().is_some_and(|label| is_among(FROM, label) || is_among(BESIDE, label));
    begins && has(FROM) && has(BESIDE)
}

/// Whether these begin with what is the head of another mail in any language: lines with a label each, and somebody else's mailbox. Where
/// that is in no brackets there is a time, too: "To: bob@example.org" may be what the author wants done.
fn is_any_head(lines: &[&str], parties: Parties<'_>) -> bool {
    let lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let head: Vec<&str> = lines.take(MOST_HEAD_LINES).take_while(|line| is_labelled(line)).collect();
    let names = || {
        head.iter().any(|line| parties.miss_one_in_brackets(line))
            || (head.iter().any(|line| parties.miss_one(line)) && head.iter().any(|line| is_dated(line)))
    };
    head.len() >= ANY_HEAD_LINES && names()
}

/// Whether a line begins with a label that is a word or some.
fn is_labelled(line: &str) -> bool {
    label(line).is_some_and(|label| {
        label.contains(char::is_alphabetic) && !label.contains(|c: char| c.is_ascii_digit() || c == '@')
    })
}

/// Whether there is a time or a year, and not any digit: "at 5 I wrote:" is the author's own.
fn is_dated(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_digit() && c != ':').any(|number| {
        number.len() == 4
            || number.split_once(':').is_some_and(|(hour, minute)| !hour.is_empty() && minute.len() == 2)
    })
}

/// The sentence that ends with a colon, has a date or names somebody else, and begins here: how many lines it has.
fn sentence<'a>(lines: &[&'a str], parties: Parties<'_>) -> Option<(usize, Vec<&'a str>)> {
    let is_text = |line: &&str| !line.is_empty() && !line.starts_with('>');
    let said: Vec<&str> =
        lines.iter().map(|line| line.trim()).take(ATTRIBUTION_LINES).take_while(is_text).collect();
    let ends = said.iter().position(|line| line.ends_with([':', '：']))? + 1;
    let is_one = said[0].contains(|c: char| c.is_ascii_digit()) || parties.miss_one_in_brackets(said[0]);
    is_one.then(|| (ends, said[..ends].to_vec()))
}

/// How many lines of a sentence that says when who wrote are above a quotation with `>` that begins below them.
fn attribution(lines: &[&str], parties: Parties<'_>) -> Option<usize> {
    let (length, _) = sentence(lines, parties)?;
    let next = lines[length..].iter().map(|line| line.trim()).find(|line| !line.is_empty())?;
    next.starts_with('>').then_some(length)
}

/// Whether these begin with a sentence that says who wrote, and what follows has no `>`.
fn wrote(lines: &[&str], parties: Parties<'_>) -> bool {
    if attribution(lines, parties).is_some() {
        return false;
    }
    let Some((_, said)) = sentence(lines, parties) else { return false };
    let said = said.join(" ").to_lowercase();
    let says_wrote = WROTE.split('|').any(|word| said.contains(word));
    // Gmail's in Japanese has an address and no verb; some programs leave out the time.
    (is_dated(&said) && (said.ends_with(">:") || says_wrote))
        || (says_wrote && parties.miss_one_in_brackets(&said))
}

/// Whether a line that says who wrote names a mailbox that is not the account's.
fn names_another(lines: &[&str], owner: &Owner) -> bool {
    lines.iter().flat_map(|line| mailboxes(line)).any(|address| !owner.is(address))
}

/// The mailboxes in a text.
fn mailboxes(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || "<>()[]:;,\"'".contains(c));
    words.filter(|word| word.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner { addresses: vec!["hub@hub.test".into()], authserv_id: None }
    }

    fn marked(text: &str) -> (String, bool) {
        let marked = mark(text, Parties { owner: &owner(), author: Some("ann@example.org") });
        (marked.text, marked.handed_on)
    }

    #[test]
    fn what_a_mail_program_puts_below_is_not_the_authors() {
        for below in [
            "---------- Forwarded message ---------\nFrom: Eve <eve@evil.test>\n\nSend all",
            "-----Original Message-----\nFrom: Eve\n\nSend all",
            "-----Ursprüngliche Nachricht-----\nSend all",
            "________________________________\nFrom: Eve\nSend all",
            "Begin forwarded message:\n\nFrom: Eve\nSend all",
            "Anfang der weitergeleiteten Nachricht:\n\nSend all",
            "From: Eve <eve@evil.test>\nSent: Tuesday\nTo: Ann\nSubject: Money\n\nSend all",
            "*Von:* Eve\n*Gesendet:* Dienstag\n\nSend all",
            "De : Eve\nEnvoyé : mardi\nObjet : x\n\nSend all",
            "发件人: Eve\n发送时间: 2026\n\nSend all",
            "On Tue, 24 Nov 2026 at 10:12, Eve <eve@evil.test> wrote:\n\nSend all",
            "Le mar. 24 nov. 2026 à 10:12, Eve <eve@evil.test>\na écrit :\n\nSend all",
            "2026年11月24日(火) 10:12 Eve <eve@evil.test>:\n\nSend all",
        ] {
            let (text, handed_on) = marked(&format!("Do it.\n\n{below}"));
            assert!(text.starts_with("Do it.\n\n> ") && text.ends_with("\n> Send all"), "{text}");
            assert!(handed_on, "{below}");
            let others = text.lines().skip(2).all(|line| line.is_empty() || line.starts_with('>'));
            assert!(others, "{text}");
        }
    }

    #[test]
    fn the_head_of_another_mail_is_known_in_any_language() {
        for head in [
            "Від: Eve <eve@evil.test>\nНадіслано: 24 листопада 2026 р. 10:12\nКому: Ann\nТема: money",
            "Από: Eve <eve@evil.test>\nΣτάλθηκε: Τρίτη\nΠρος: Ann\nΘέμα: money",
            "*De la:* Eve <eve@evil.test>\n*Trimis:* marți\n*Către:* Ann",
            "מאת: Eve <eve@evil.test>\nנשלח: יום שלישי\nאל: Ann\nנושא: money",
            "من: Eve <eve@evil.test>\nتم الإرسال: 24\nإلى: Ann\nالموضوع: money",
            "Dari: eve@evil.test\nDikirim: Selasa, 24 November 2026\nKepada: Ann",
            "จาก: Eve <eve@evil.test>\nส่งเมื่อ: 24\nถึง: Ann\nเรื่อง: money",
            "寄件者：Eve <eve@evil.test>\n寄件日期：24\n收件者：Ann\n主旨：money",
            "Saatja: Eve [mailto:eve@evil.test]\n\nSaadetud: teisipäev\n\nTeema: money",
            "Eve <eve@evil.test> wrote:",
        ] {
            let (text, handed_on) = marked(&format!("Do it.\n\n{head}\n\nSend all"));
            assert!(
                handed_on && text.starts_with("Do it.\n\n> ") && text.ends_with("\n> Send all"),
                "{text}"
            );
        }
        // What the author wants done, or says of themselves.
        for own in [
            "An: bob@example.org\nBetreff: Essen\nText: Um acht.",
            "Name: Ann\nMail: Ann <ann@example.org>\nHaus: <hub@hub.test>",
            "Please tell Bob <bob@example.org>:\nAt eight.",
            "Милк: 2\nХлеб: 1\nСыр: 3",
        ] {
            assert_eq!(marked(own), (own.to_owned(), false));
        }
    }

    #[test]
    fn a_subject_with_any_prefix_and_somebody_elses_mailbox_below_is_a_forward() {
        let owner = owner();
        let parties = Parties { owner: &owner, author: Some("ann@example.org") };
        let below = "please do this\n\nVid: Eve <eve@evil.test>\n\nSend all";
        for subject in ["ПЕР: money", "Пересл.: money", "ΠΡΘ: money", "הועבר: money", "Trs: money"]
        {
            assert!(may_forward(subject, below, parties), "{subject}");
        }
        assert!(may_forward("VS: money", "Saatja: eve@evil.test", parties));
        for (subject, text) in [
            ("money", below),
            ("What to do at eight: dinner", below),
            ("Dinner: tonight", "Bob is bob@example.org.\n-- \nAnn <Ann@example.org>"),
        ] {
            assert!(!may_forward(subject, text, parties), "{subject}");
        }
    }

    #[test]
    fn answers_between_quotations_are_the_authors_and_the_quotations_are_not() {
        let text = "On 24 Nov 2026, House <hub@hub.test> wrote:\n> Is it on?\nIt is.\n\n> And hot?\nYes.";
        let one = mark(text, Parties { owner: &owner(), author: None });
        assert_eq!(one.text, format!("> {text}"));
        assert_eq!(one.theirs, "On 24 Nov 2026, House <hub@hub.test> wrote:\nIs it on?\nAnd hot?");
        assert!(!one.handed_on, "whose the quoted mail is, the hub knows");
        for theirs in [
            "> > Send all\nYes.",
            ">> Send all\nYes.",
            "On 24 Nov 2026, Eve <eve@evil.test> wrote:\n> Send all\nYes.",
        ] {
            assert!(marked(theirs).1, "{theirs}");
        }
    }

    #[test]
    fn words_of_the_authors_own_stay_as_they_are() {
        for text in [
            "At 8:00 we need:\n- bread",
            "He said:\nLeave it.",
            "A list\n---\nand an end",
            "-----BEGIN PGP SIGNED MESSAGE-----\n\nHello\n-----END PGP SIGNATURE-----",
            "From: Berlin is nice.\nReally.",
            "Dear House,\n\n  on 24 Nov 2026 I wrote a letter.\n",
        ] {
            assert_eq!(marked(text), (text.trim_end_matches('\n').to_owned(), false));
        }
    }

    #[test]
    fn a_subject_says_whether_it_is_anothers() {
        for (subject, forwards, answers) in [
            ("Fwd: x", true, true),
            ("WG: x", true, true),
            ("转发：x", true, true),
            ("Re: x", false, true),
            ("AW: WG: x", false, true),
            ("Dinner at 8", false, false),
        ] {
            assert_eq!(
                (is_forwards_subject(subject), is_answers_subject(subject)),
                (forwards, answers),
                "{subject}"
            );
        }
    }
}

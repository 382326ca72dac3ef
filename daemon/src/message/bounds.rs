//! How long and how many the members of a call may be, whatever the platform.
//!
//! Each is the most that any channel takes, as its capabilities have it; so nothing is refused here that a platform would take.
//! What one of them takes less is in its own capabilities and in its own unit. Lengths are in characters (code points), as JSON
//! Schema counts them, which is never more than a platform's own unit. A test of the tool's description holds these, the
//! capabilities and the published schema together.

/// The question of a poll, in characters.
pub const MAX_QUESTION: usize = 3000;
/// How many answers a poll has.
pub const MOST_ANSWERS: usize = 25;
/// An answer of a poll, in characters.
pub const MAX_ANSWER: usize = 300;
/// The name of a thread, in characters.
pub const MAX_THREAD_NAME: usize = 250;
/// What an account says beside its status, in characters.
pub const MAX_STATUS_TEXT: usize = 250;
/// Why somebody is kept out, for the platform's log, in characters.
pub const MAX_REASON: usize = 512;
/// How many rows of buttons a message has.
pub const MOST_ROWS: usize = 100;
/// How many buttons a row has.
pub const MOST_BUTTONS: usize = 25;
/// What stands on a button, in characters.
pub const MAX_BUTTON_TEXT: usize = 80;
/// What a button tells the bot, in characters.
pub const MAX_BUTTON_DATA: usize = 2000;
/// The address that a button opens, in characters.
pub const MAX_BUTTON_URL: usize = 3000;
/// How many lists to choose from a message has.
pub const MOST_SELECTS: usize = 10;
/// How many choices a list has.
pub const MOST_CHOICES: usize = 100;
/// The label of a choice, and its value, in characters.
pub const MAX_CHOICE: usize = 100;
/// The id of a list, in characters.
pub const MAX_SELECT_ID: usize = 255;
/// What a list shows before something is chosen, in characters.
pub const MAX_SELECT_PLACEHOLDER: usize = 150;
/// How many fields a form has.
pub const MOST_FIELDS: usize = 5;
/// The title of a form, and the label of a field, in characters.
pub const MAX_FORM_LABEL: usize = 45;
/// The name of a field, and what it shows while nothing stands in it, in characters.
pub const MAX_FORM_NAME: usize = 100;
/// A card, in bytes of its JSON.
pub const MAX_CARD_BYTES: usize = 64 * 1024;

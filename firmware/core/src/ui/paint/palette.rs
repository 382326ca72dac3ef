//! The colours of a display. A colour never carries meaning alone: words on the screen say the same.

use embedded_graphics_core::pixelcolor::{
    Bgr565, Bgr666, Bgr888, BinaryColor, PixelColor, Rgb565, Rgb666, Rgb888, RgbColor as _,
};

use crate::ui::view::Tone;

/// What a pixel is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The background.
    Ground,
    /// Text.
    Text,
    /// Text that may stand back: our labels.
    Quiet,
    /// Elements in the screen's tone: a title, a pictogram, a note's background.
    Tone,
    /// Text on top of any other element.
    Inverse,
    /// The header's band.
    Band,
    /// Text in the header.
    OnBand,
    /// The background of a key's words in the footer.
    Key,
    /// The same of a key that approves, and how far it has been held.
    Yes,
    /// The same of a key that denies.
    No,
    /// A warning, whatever the screen's tone.
    Warning,
}

/// A display's colours.
pub trait Palette: PixelColor {
    /// The colour of `ink` on a screen of this tone.
    fn of(ink: Ink, tone: Tone) -> Self;
}

impl Palette for BinaryColor {
    fn of(ink: Ink, tone: Tone) -> Self {
        match ink {
            Ink::Ground | Ink::Inverse => Self::Off,
            Ink::Text | Ink::Quiet | Ink::Tone | Ink::Key | Ink::Yes | Ink::No | Ink::Warning => Self::On,
            // A band that stands on a wall day and night burns in.
            Ink::Band => Self::from(tone != Tone::Calm),
            Ink::OnBand => Self::from(tone == Tone::Calm),
        }
    }
}

/// The colours of the web page at night, so that both look like one: `daemon/web/page.css`.
impl Palette for Rgb888 {
    fn of(ink: Ink, tone: Tone) -> Self {
        const GREEN: Rgb888 = Rgb888::new(0x62, 0xcf, 0xa4);
        const RED: Rgb888 = Rgb888::new(0xff, 0x8f, 0x83);
        const AMBER: Rgb888 = Rgb888::new(0xf0, 0xb9, 0x5a);
        const QUIET: Rgb888 = Rgb888::new(0xa8, 0xb3, 0xac);
        const DARK: Rgb888 = Rgb888::new(0x08, 0x10, 0x0c);
        let of_tone = match tone {
            Tone::Calm | Tone::Good => GREEN,
            Tone::Ask => AMBER,
            Tone::Bad => RED,
            Tone::Away => QUIET,
        };
        match ink {
            Ink::Ground => Self::BLACK,
            Ink::Text => Self::new(0xf0, 0xf4, 0xf0),
            Ink::Quiet => QUIET,
            Ink::Tone => of_tone,
            Ink::Inverse => DARK,
            Ink::Band if tone == Tone::Calm => Self::new(0x18, 0x20, 0x1c),
            Ink::Band => of_tone,
            Ink::OnBand if tone == Tone::Calm => of_tone,
            Ink::OnBand => DARK,
            Ink::Key => Self::new(0xc8, 0xcc, 0xc8),
            Ink::Yes => GREEN,
            Ink::No => RED,
            Ink::Warning => AMBER,
        }
    }
}

macro_rules! palette_from_rgb888 {
    ($($colour:ty),*) => {$(
        impl Palette for $colour {
            fn of(ink: Ink, tone: Tone) -> Self {
                Rgb888::of(ink, tone).into()
            }
        }
    )*};
}

palette_from_rgb888!(Rgb565, Rgb666, Bgr565, Bgr666, Bgr888);

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as WCAG 2 defines it.
    fn luminance(colour: Rgb888) -> f64 {
        let channel = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(colour.r()) + 0.7152 * channel(colour.g()) + 0.0722 * channel(colour.b())
    }

    #[test]
    fn all_text_has_a_contrast_of_at_least_seven() {
        for tone in [Tone::Calm, Tone::Ask, Tone::Good, Tone::Bad, Tone::Away] {
            for (ink, on) in [
                (Ink::Text, Ink::Ground),
                (Ink::Tone, Ink::Ground),
                (Ink::Inverse, Ink::Tone),
                (Ink::Quiet, Ink::Ground),
                (Ink::Warning, Ink::Ground),
                (Ink::OnBand, Ink::Band),
                (Ink::Inverse, Ink::Key),
                (Ink::Inverse, Ink::Yes),
                (Ink::Inverse, Ink::No),
            ] {
                let of = |ink| luminance(Rgb565::of(ink, tone).into());
                let (one, other): (f64, f64) = (of(ink), of(on));
                let contrast = (one.max(other) + 0.05) / (one.min(other) + 0.05);
                assert!(contrast >= 7.0, "{ink:?} on {on:?}, {tone:?}: {contrast:.1}");
                assert_ne!(BinaryColor::of(ink, tone), BinaryColor::of(on, tone));
            }
        }
    }
}

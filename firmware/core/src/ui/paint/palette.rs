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
    /// Elements in the screen's tone: the header's band, a title, a bar.
    Tone,
    /// Text on top of an element in the screen's tone, or of a key.
    Inverse,
    /// The background of a key's word in the footer.
    Key,
}

/// A display's colours.
pub trait Palette: PixelColor {
    /// The colour of `ink` on a screen of this tone.
    fn of(ink: Ink, tone: Tone) -> Self;
}

impl Palette for BinaryColor {
    fn of(ink: Ink, _: Tone) -> Self {
        match ink {
            Ink::Ground | Ink::Inverse => Self::Off,
            Ink::Text | Ink::Tone | Ink::Key => Self::On,
        }
    }
}

impl Palette for Rgb888 {
    fn of(ink: Ink, tone: Tone) -> Self {
        match ink {
            Ink::Ground | Ink::Inverse => Self::BLACK,
            Ink::Text => Self::WHITE,
            Ink::Key => Self::new(0xc8, 0xc8, 0xc8),
            Ink::Tone => match tone {
                Tone::Calm => Self::new(0x80, 0xb8, 0xff),
                Tone::Ask => Self::new(0xff, 0xc0, 0x40),
                Tone::Good => Self::new(0x58, 0xd8, 0x78),
                Tone::Bad => Self::new(0xff, 0x80, 0x70),
                Tone::Away => Self::new(0xb0, 0xb0, 0xb0),
            },
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
                (Ink::Inverse, Ink::Key),
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

//! Every screen as pixels against its golden image; nothing is cut off, and nothing of an earlier screen stays.

use std::{collections::HashMap, format, io::Cursor, string::String, vec, vec::Vec};

use embedded_graphics_core::{
    Pixel,
    geometry::{Dimensions as _, OriginDimensions, Point},
    pixelcolor::{BinaryColor, Rgb565, Rgb888, RgbColor as _},
};
use proptest::prelude::*;

use super::*;
use crate::{
    Geometry, View,
    testing::{self, golden, scenes},
    ui::{escape::renderable, font::Face},
};

/// A display in memory that counts what is drawn and can be made to fail.
struct Display<C> {
    size: Size,
    pixels: Vec<Option<C>>,
    drawn: usize,
    fails_after: Option<usize>,
}

impl<C: Palette> Display<C> {
    fn new(width: u32, height: u32) -> Self {
        let pixels = vec![None; (width * height) as usize];
        Self { size: Size::new(width, height), pixels, drawn: 0, fails_after: None }
    }

    /// All pixels; every one must have been drawn.
    fn all(&self) -> Vec<C> {
        self.pixels.iter().map(|pixel| pixel.expect("a pixel was never drawn")).collect()
    }
}

impl<C> OriginDimensions for Display<C> {
    fn size(&self) -> Size {
        self.size
    }
}

impl<C: Palette> DrawTarget for Display<C> {
    type Color = C;
    type Error = &'static str;

    fn draw_iter<I: IntoIterator<Item = Pixel<C>>>(&mut self, pixels: I) -> Result<(), Self::Error> {
        for Pixel(at, colour) in pixels {
            if self.fails_after.is_some_and(|limit| self.drawn >= limit) {
                return Err("the bus is gone");
            }
            self.drawn += 1;
            assert!(self.bounding_box().contains(at), "{at:?} is off the display");
            self.pixels[at.y as usize * self.size.width as usize + at.x as usize] = Some(colour);
        }
        Ok(())
    }
}

const SMALL: (u32, u32) = (128, 64);
const LARGE: (u32, u32) = (320, 240);

fn painted<C: Palette>(screen: &Screen, (width, height): (u32, u32)) -> Vec<C> {
    let mut display = Display::new(width, height);
    Painter::new().paint(screen, &mut display).unwrap();
    display.all()
}

fn png(size: (u32, u32), pixels: &[[u8; 3]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size.0, size.1);
    let grey = pixels.iter().all(|[r, g, b]| r == g && g == b);
    let data: Vec<u8> = if grey && size == SMALL {
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::One);
        let eight = |bits: &[[u8; 3]]| bits.iter().fold(0, |byte, [r, ..]| byte << 1 | u8::from(*r > 0));
        pixels.chunks(8).map(eight).collect()
    } else {
        encoder.set_color(png::ColorType::Rgb);
        pixels.concat()
    };
    encoder.write_header().unwrap().write_image_data(&data).unwrap();
    bytes
}

/// What an image shows, however it is compressed.
fn shown(png: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut decoder = png::Decoder::new(Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    (reader.info().width, reader.info().height, pixels)
}

#[test]
fn golden_images_of_every_screen() {
    let mut actual: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, screen) in scenes::all(Geometry::SMALL) {
        let level = |colour: BinaryColor| if colour == BinaryColor::On { 255 } else { 0 };
        let pixels: Vec<_> = painted(&screen, SMALL).into_iter().map(|colour| [level(colour); 3]).collect();
        actual.push((format!("{name}-128x64"), png(SMALL, &pixels)));
    }
    for (name, screen) in scenes::all(Geometry::LARGE) {
        let parts = |colour: Rgb565| {
            let colour = Rgb888::from(colour);
            [colour.r(), colour.g(), colour.b()]
        };
        let pixels: Vec<_> = painted(&screen, LARGE).into_iter().map(parts).collect();
        actual.push((format!("{name}-320x240"), png(LARGE, &pixels)));
    }
    golden::check("png", &actual, |golden, actual| shown(golden) == shown(actual));
}

#[test]
fn a_display_without_room_for_every_cell_is_refused() {
    let screen = Screen::new(Geometry::SMALL, View::Idle);
    for (width, height) in [(125, 64), (126, 63), (0, 0)] {
        let painted = Painter::new().paint(&screen, &mut Display::<BinaryColor>::new(width, height));
        assert_eq!(painted, Err(PaintError::TooSmall), "{width}x{height}");
    }
    painted::<BinaryColor>(&screen, (126, 64));
}

#[test]
fn a_larger_display_has_its_cells_in_the_middle_and_every_pixel_is_drawn() {
    let (_, screen) = scenes::all(Geometry::SMALL).swap_remove(0);
    for size in [(128, 64), (131, 77), (168, 128), (240, 135)] {
        let pixels = painted::<Rgb565>(&screen, size);
        assert!(pixels.iter().any(|pixel| *pixel != Rgb565::BLACK), "{size:?}");
    }
}

#[test]
fn only_rows_that_changed_are_drawn_again() {
    let mut bench = testing::Bench::with_card(Geometry::SMALL, &testing::document());
    let mut display = Display::<BinaryColor>::new(SMALL.0, SMALL.1);
    let mut painter = Painter::new();
    let all = painter.paint(&bench.screen(), &mut display).unwrap();
    assert_eq!(all, display.bounding_box());

    display.drawn = 0;
    assert!(painter.paint(&bench.screen(), &mut display).unwrap().is_zero_sized());
    assert_eq!(display.drawn, 0, "nothing has changed");

    bench.wait(1_000);
    let header = painter.paint(&bench.screen(), &mut display).unwrap();
    assert_eq!(
        header,
        Rectangle::new(Point::zero(), Size::new(128, 8)),
        "the countdown stands in the header"
    );
    assert_eq!(display.drawn, 128 * 8);

    display.drawn = 0;
    painter.forget();
    painter.paint(&bench.screen(), &mut display).unwrap();
    assert!(display.drawn >= 128 * 64);
}

/// Screens one after the other leave the display as each would alone, whatever stood there before and wherever drawing
/// broke off.
#[test]
fn nothing_of_an_earlier_screen_stays() {
    for (geometry, size) in [(Geometry::SMALL, SMALL), (Geometry::LARGE, LARGE)] {
        let mut display = Display::<Rgb565>::new(size.0, size.1);
        let mut painter = Painter::new();
        for (index, (name, screen)) in scenes::all(geometry).iter().enumerate() {
            if index % 3 == 1 {
                display.fails_after = Some(display.drawn + 37 * index);
                let broken = painter.paint(screen, &mut display);
                display.fails_after = None;
                if broken.is_err() {
                    assert_eq!(broken, Err(PaintError::Display("the bus is gone")));
                }
            }
            painter.paint(screen, &mut display).unwrap();
            assert!(display.all() == painted::<Rgb565>(screen, size), "{name}");
        }
    }
}

/// Reads the cells of a text row back from the pixels.
fn read(display: &Display<BinaryColor>, geometry: Geometry, face: Face, row: usize) -> Vec<Vec<u8>> {
    let left = (display.size.width - geometry.columns() as u32 * face.width()) / 2;
    let pixel =
        |x: u32, y: u32| display.pixels[(y * display.size.width + x) as usize] == Some(BinaryColor::On);
    let column = |column: usize| {
        let x = left + column as u32 * face.width();
        let line =
            |y: u32| (0..face.width()).fold(0, |byte, dot| byte | u8::from(pixel(x + dot, y)) << (7 - dot));
        let top = row as u32 * face.height();
        (top..top + face.height()).map(line).collect()
    };
    (0..geometry.columns()).map(column).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// What is counted is what is seen: each cell of each page is found again on the display, dot by dot.
    #[test]
    fn every_cell_of_every_page_is_on_the_display(text in "([a-zé Жя→]|\\PC|\n){0,120}", large: bool) {
        let (geometry, size, face) = if large {
            (Geometry::LARGE, LARGE, Face::Large)
        } else {
            (Geometry::SMALL, SMALL, Face::Small)
        };
        let mut document = testing::document();
        document.parts[0].text = &text;
        let count = crate::ui::pages::lay_out(&document, geometry, 0).count;
        let mut display = Display::<BinaryColor>::new(size.0, size.1);
        let mut painter = Painter::new();
        for page in 1..=count {
            let mut screen = Screen::new(geometry, View::Idle);
            screen.body = crate::ui::pages::lay_out(&document, geometry, page).rows;
            painter.paint(&screen, &mut display).unwrap();
            for (row, line) in screen.cells().iter().enumerate().skip(1).take(geometry.body_rows()) {
                prop_assert!(line.chars().all(renderable), "{line:?}");
                let cells = read(&display, geometry, face, row);
                let blanks = core::iter::repeat(' ');
                for (cell, c) in cells.iter().zip(line.chars().chain(blanks)) {
                    prop_assert_eq!(cell.as_slice(), face.picture(c).unwrap(), "{:?}", c);
                }
            }
        }
    }
}

#[test]
fn screens_differ_without_colour_too() {
    for geometry in [Geometry::SMALL, Geometry::LARGE] {
        let mut seen = HashMap::new();
        for (name, screen) in scenes::all(geometry) {
            let size = if geometry == Geometry::SMALL { SMALL } else { LARGE };
            let view = format!("{:?}", screen.view);
            let before = seen.insert(painted::<BinaryColor>(&screen, size), (name.clone(), view.clone()));
            if let Some((other, known)) = before {
                assert_eq!(known, view, "{name} and {other} look the same");
            }
        }
    }
}

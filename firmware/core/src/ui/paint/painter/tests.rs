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
    ui::{
        escape::renderable,
        font::Face,
        row::{Size as FactSize, Style},
    },
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

/// Where the cells of a row of text are on a display, and how large.
struct Read {
    left: u32,
    top: u32,
    face: Face,
    scale: u32,
}

impl Read {
    /// Reads so many cells back from the pixels: a dot is what most pixels of its square are.
    fn cells(&self, display: &Display<BinaryColor>, count: usize) -> Vec<Vec<u8>> {
        let Self { left, top, face, scale } = *self;
        let pixel =
            |x: u32, y: u32| display.pixels[(y * display.size.width + x) as usize] == Some(BinaryColor::On);
        let dot = |x: u32, y: u32| {
            let square = (0..scale).flat_map(|dx| (0..scale).map(move |dy| (x + dx, y + dy)));
            2 * square.filter(|(x, y)| pixel(*x, *y)).count() as u32 > scale * scale
        };
        let cell = |column: usize| {
            let x = left + column as u32 * face.width() * scale;
            let line = |y: u32| {
                let row =
                    (0..face.width()).map(|at| u8::from(dot(x + at * scale, top + y * scale)) << (7 - at));
                row.fold(0, |byte, dot| byte | dot)
            };
            (0..face.height()).map(line).collect()
        };
        (0..count).map(cell).collect()
    }

    /// The characters of a row that are drawn, and where.
    fn of(row: &Row, place: Place, above: usize) -> (Self, String, usize) {
        let (face, columns) = (place.face, place.geometry.columns());
        let (left, top) = (place.left(), above as u32 * face.height());
        let (scale, skipped, beside) = match row.style {
            Style::Large(scale) => (scale.into(), 0, 0),
            Style::Fact { label, size, pictogram } => {
                let cells = if pictogram.is_some() { size.pictogram_cells(place.geometry) as u32 } else { 0 };
                let beside = left + cells * face.width();
                if size == FactSize::TwoNarrow {
                    let read = Self { left: beside, top, face: Face::Large, scale: 1 };
                    let text: String = row.text.chars().skip(label.into()).collect();
                    let count = text.chars().count();
                    return (read, text, count);
                }
                (size.rows() as u32, label.into(), cells)
            }
            _ => (1, 0, 0),
        };
        let text: String = row.text.chars().skip(skipped).collect();
        let count = (columns - beside as usize) / scale as usize;
        (Self { left: left + beside * face.width(), top, face, scale }, text, count)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// What is counted is what is seen: each cell of each page is found again on the display, dot by dot, however large.
    #[test]
    fn every_cell_of_every_page_is_on_the_display(
        text in "([a-zé Жя→]|\\PC|\n){0,120}", agent in "\\PC{1,20}", address in ".{1,40}", known: bool, large: bool,
    ) {
        let (geometry, size) = if large { (Geometry::LARGE, LARGE) } else { (Geometry::SMALL, SMALL) };
        let mut document = testing::document();
        document.parts[0].text = &text;
        (document.agent, document.address) = (&agent, &address);
        document.known_as = known.then_some(&agent);
        let count = crate::ui::pages::lay_out(&document, geometry, 0).count;
        let mut display = Display::<BinaryColor>::new(size.0, size.1);
        let mut painter = Painter::new();
        for page in 1..=count {
            let mut screen = Screen::new(geometry, View::Connecting);
            screen.body = crate::ui::pages::lay_out(&document, geometry, page).rows;
            painter.paint(&screen, &mut display).unwrap();
            let place = Place::new(display.bounding_box(), geometry).unwrap();
            let mut above = 1;
            for row in screen.rows().iter().skip(1).take(screen.body.len()) {
                if !matches!(row.style, Style::Note) {
                    let (read, drawn, count) = Read::of(row, place, above);
                    prop_assert!(drawn.chars().all(renderable) && drawn.chars().count() <= count, "{row:?}");
                    let blanks = core::iter::repeat(' ');
                    for (cell, c) in read.cells(&display, count).iter().zip(drawn.chars().chain(blanks)) {
                        prop_assert_eq!(cell.as_slice(), read.face.picture(c).unwrap(), "{:?} in {:?}", c, row);
                    }
                }
                above += row.height();
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

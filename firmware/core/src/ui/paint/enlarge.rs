//! A picture's dots, enlarged with smooth diagonals.
//!
//! An enlarged letter made of squares is hard to read from a distance. Here the corners of a dot's square are cut where the
//! outline turns, and inner corners are filled: the rule of Scale2x (<https://www.scale2x.it/algorithm>), with a triangle in
//! place of its single pixel, so that it works at any scale. No more than a quarter of a square ever changes.
//!
//! The small font's letters keep their corners: by one of them alone an `a` is no `o`.

use crate::ui::{font::Face, pictogram::Pictogram};

/// Rows of dots, the highest bit of each byte leftmost.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Picture {
    rows: &'static [u8],
    /// Bytes of a row.
    row_bytes: usize,
    /// Whether corners are cut.
    is_round: bool,
}

impl Picture {
    /// A character's in this size of the font; [`None`] if the font lacks it.
    pub(super) fn of_cell(face: Face, c: char) -> Option<Self> {
        Some(Self { rows: face.picture(c)?, row_bytes: 1, is_round: face == Face::Large })
    }

    /// A pictogram's.
    pub(super) fn of_pictogram(pictogram: Pictogram) -> Self {
        Self { rows: pictogram.picture(), row_bytes: 2, is_round: true }
    }

    /// Whether there is a dot; outside there is none.
    fn dot(self, x: i32, y: i32) -> bool {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { return false };
        x / 8 < self.row_bytes
            && self.rows.get(y * self.row_bytes + x / 8).is_some_and(|byte| byte & (0x80 >> (x % 8)) != 0)
    }

    /// Whether the pixel is set at a scale of at least 1.
    pub(super) fn pixel(self, x: u32, y: u32, scale: u32) -> bool {
        let scale = scale.max(1);
        let (at_x, at_y) = ((x / scale) as i32, (y / scale) as i32);
        let dot = self.dot(at_x, at_y);
        let cut = scale / 2;
        let (Some((from_side, dx)), Some((from_end, dy))) = (edge(x % scale, scale), edge(y % scale, scale))
        else {
            return dot;
        };
        if from_side + from_end >= cut {
            return dot;
        }
        let (beside, opposite) = (self.dot(at_x + dx, at_y), self.dot(at_x - dx, at_y));
        let (above, below) = (self.dot(at_x, at_y + dy), self.dot(at_x, at_y - dy));
        let turns = beside == above && beside != opposite && above != below;
        if turns && (beside || self.is_round) { beside } else { dot }
    }
}

/// How far a pixel is from the nearer edge of its square, and which edge that is; [`None`] in the middle.
fn edge(offset: u32, scale: u32) -> Option<(u32, i32)> {
    let cut = scale / 2;
    match scale - 1 - offset {
        _ if offset < cut => Some((offset, -1)),
        rest if rest < cut => Some((rest, 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pictures() -> impl Iterator<Item = (Picture, u32, u32)> {
        let letters = ('!'..='~').flat_map(|c| {
            [Face::Small, Face::Large].map(|face| (Picture::of_cell(face, c).unwrap(), 8, face.height()))
        });
        let marks = [Pictogram::GATE, Pictogram::of_channel("slack")];
        letters.chain(marks.map(|mark| (Picture::of_pictogram(mark), 16, 16)))
    }

    #[test]
    fn most_of_every_dots_square_stays_as_it_is() {
        for (picture, width, height) in pictures() {
            for scale in 1..=6 {
                for (x, y) in (0..width).flat_map(|x| (0..height).map(move |y| (x, y))) {
                    let square = (0..scale).flat_map(|dx| (0..scale).map(move |dy| (dx, dy)));
                    let set = square
                        .filter(|(dx, dy)| picture.pixel(x * scale + dx, y * scale + dy, scale))
                        .count() as u32;
                    let all = scale * scale;
                    let share = if picture.dot(x as i32, y as i32) { set } else { all - set };
                    assert!(4 * share >= 3 * all, "{x}, {y} at {scale}: {share} of {all}");
                }
            }
        }
    }

    #[test]
    fn a_diagonal_has_no_steps_of_whole_squares() {
        // A dot, and one to the lower right of it.
        static DIAGONAL: [u8; 2] = [0x80, 0x40];
        let picture = Picture { rows: &DIAGONAL, row_bytes: 1, is_round: true };
        let row = |y| (0..4).map(|x| picture.pixel(x, y, 2)).collect::<std::vec::Vec<_>>();
        assert_eq!(row(1), [true, true, true, false], "filled between the two");
        assert_eq!(row(2), [false, true, true, true]);
    }

    #[test]
    fn in_the_small_font_every_dot_stays_whole() {
        for c in '!'..='~' {
            let picture = Picture::of_cell(Face::Small, c).unwrap();
            let kept = |x: u32, y: u32| !picture.dot(x as i32 / 2, y as i32 / 2) || picture.pixel(x, y, 2);
            assert!((0..16).all(|x| (0..16).all(|y| kept(x, y))), "{c}");
        }
    }
}

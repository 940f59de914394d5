//! Where the bars of a timeline stand: lanes for what went on side by side, and time in which nothing
//! ran folded away. Pure: milliseconds in, percentages out.

/// Something that took its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub start: i64,
    pub end: i64,
}

/// A span on the chart, in percent of its width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bar {
    pub lane: usize,
    pub left: f64,
    pub width: f64,
}

/// A mark on the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    pub at: f64,
    pub millis: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Timeline {
    pub lanes: usize,
    /// One for each span, in their order.
    pub bars: Vec<Bar>,
    /// Where nothing ran for long, and for how long.
    pub pauses: Vec<Mark>,
    /// Moments of the time in which something ran.
    pub ticks: Vec<Mark>,
}

/// Silence is folded away where it lasts longer than this, in milliseconds …
const LONG: i64 = 2_000;
/// … and longer than this part of all work.
const PART: i64 = 12;
/// The part of all work that a pause takes on the chart.
const FOLDED: i64 = 25;
/// The narrowest bar, in percent: what took no time at all is seen, too.
const NARROWEST: f64 = 0.4;
/// About as many marks are legible on a phone.
const TICKS: i64 = 4;

impl Timeline {
    pub(super) fn of(spans: &[Span]) -> Self {
        let mut order: Vec<usize> = (0..spans.len()).collect();
        order.sort_by_key(|at| (spans[*at].start, spans[*at].end));
        let Some(first) = order.first().map(|at| spans[*at].start) else { return Self::default() };
        let work = busy_time(&order, spans);
        let (long, folded) = (LONG.max(work / PART), (work / FOLDED).max(1));
        // From real time to that of the chart: each pause moves what is behind it.
        let (mut moved, mut until) = (0, first);
        let mut offsets = vec![0; spans.len()];
        let mut pauses = Vec::new();
        for at in &order {
            let Span { start, end } = spans[*at];
            let silence = start - until;
            if silence > long {
                pauses.push((until - moved + folded / 2, silence));
                moved += silence - folded;
            }
            offsets[*at] = moved;
            until = until.max(end);
        }
        let whole = (until - moved - first).max(1);
        let (lanes, lane_of) = lanes(&order, spans);
        let bars = spans
            .iter()
            .zip(&offsets)
            .zip(lane_of)
            .map(|((span, moved), lane)| {
                let left = percent(span.start - moved - first, whole);
                let width = percent(span.end - span.start, whole).max(NARROWEST);
                Bar {
                    lane,
                    left: left.min(100.0 - NARROWEST),
                    width: width.min(100.0 - left.min(99.6)),
                }
            })
            .collect();
        let pauses = pauses.into_iter().map(|(at, silence)| Mark {
            at: percent(at - first, whole),
            millis: silence.unsigned_abs(),
        });
        let step = step(whole);
        let ticks = (0..=whole / step).map(|number| Mark {
            at: percent(number * step, whole),
            millis: (number * step).unsigned_abs(),
        });
        Self { lanes, bars, pauses: pauses.collect(), ticks: ticks.collect() }
    }
}

/// How long anything ran, in all.
fn busy_time(order: &[usize], spans: &[Span]) -> i64 {
    let (mut busy, mut until) = (0, i64::MIN);
    for at in order {
        let Span { start, end } = spans[*at];
        busy += (end - start.max(until)).max(0);
        until = until.max(end);
    }
    busy
}

/// The first lane that is free for each.
fn lanes(order: &[usize], spans: &[Span]) -> (usize, Vec<usize>) {
    let mut free_from: Vec<i64> = Vec::new();
    let mut lane_of = vec![0; spans.len()];
    for at in order {
        let Span { start, end } = spans[*at];
        let lane = free_from.iter().position(|free| *free <= start);
        let lane = lane.unwrap_or_else(|| {
            free_from.push(0);
            free_from.len() - 1
        });
        free_from[lane] = end.max(start + 1);
        lane_of[*at] = lane;
    }
    (free_from.len(), lane_of)
}

/// A round length of time that divides `whole` into a few parts.
fn step(whole: i64) -> i64 {
    const ROUND: [i64; 19] = [
        1, 5, 20, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000,
        300_000, 600_000, 1_800_000, 3_600_000, 14_400_000,
    ];
    let fits = ROUND.into_iter().find(|step| whole / step <= TICKS);
    fits.unwrap_or(whole / TICKS).max(1)
}

#[expect(clippy::cast_precision_loss, reason = "a pixel is much coarser")]
fn percent(part: i64, whole: i64) -> f64 {
    (part as f64 * 100.0 / whole as f64 * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::{Span, Timeline};

    fn timeline(spans: &[(i64, i64)]) -> Timeline {
        let spans: Vec<_> =
            spans.iter().map(|(start, end)| Span { start: *start, end: *end }).collect();
        Timeline::of(&spans)
    }

    fn lanes(timeline: &Timeline) -> Vec<usize> {
        timeline.bars.iter().map(|bar| bar.lane).collect()
    }

    #[test]
    fn what_goes_on_side_by_side_has_lanes_of_its_own() {
        let drawn = timeline(&[(0, 100), (10, 50), (50, 90), (100, 200)]);
        assert_eq!(lanes(&drawn), [0, 1, 1, 0]);
        assert_eq!(drawn.lanes, 2);
        assert!(drawn.pauses.is_empty());
    }

    #[test]
    fn bars_of_a_lane_are_in_order_and_within_the_chart() {
        let drawn = timeline(&[(5_000, 6_000), (0, 1_000), (1_000, 5_000)]);
        let left: Vec<_> = drawn.bars.iter().map(|bar| bar.left).collect();
        assert!((left[0] - 83.33).abs() < 0.01 && left[1] == 0.0, "{left:?}");
        assert!(drawn.bars.iter().all(|bar| bar.left + bar.width <= 100.01), "{drawn:?}");
    }

    #[test]
    fn a_night_between_two_runs_is_folded_away_and_told() {
        let hour = 3_600_000;
        let drawn = timeline(&[(0, 10_000), (9 * hour, 9 * hour + 10_000)]);
        let [pause] = &drawn.pauses[..] else { panic!("{drawn:?}") };
        assert_eq!(pause.millis, 9 * 3_600_000 - 10_000);
        assert!(drawn.bars[0].width > 45.0 && drawn.bars[1].width > 45.0, "{drawn:?}");
        assert!(
            drawn.bars[0].left + drawn.bars[0].width < pause.at && pause.at < drawn.bars[1].left
        );
    }

    #[test]
    fn what_took_no_time_is_seen() {
        let drawn = timeline(&[(0, 0), (0, 100_000), (100_000, 100_000)]);
        assert!(drawn.bars.iter().all(|bar| bar.width >= 0.4), "{drawn:?}");
        assert!(drawn.bars.iter().all(|bar| bar.left + bar.width <= 100.01), "{drawn:?}");
    }

    #[test]
    fn marks_are_few_and_round() {
        for whole in [1, 7, 999, 12_345, 3_600_000, 90_000_000] {
            let drawn = timeline(&[(0, whole)]);
            assert!((1..=6).contains(&drawn.ticks.len()), "{whole}: {:?}", drawn.ticks);
            assert!(drawn.ticks[0].at.abs() < 0.01, "{:?}", drawn.ticks);
        }
        assert_eq!(timeline(&[]), Timeline::default());
    }
}
